/** The element there; negative indexes count from the end. There must be one. */
export function at<T>(list: readonly T[], index: number): T {
  const found = index < 0 ? list.at(index) : list[index];
  if (found === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return found;
}
