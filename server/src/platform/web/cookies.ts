/**
 * The value of this cookie as it was sent; of several the first. `undefined` if there is none.
 *
 * The other cookies are not looked at, and nothing is decoded, which our own values do not need. A stranger can send
 * thousands of cookies, and to decode each of them, wrongly encoded, takes a tenth of a second.
 */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  const start = `${name}=`;
  for (let at = header.indexOf(start); at >= 0; at = header.indexOf(start, at + start.length)) {
    if (!beginsCookie(header, at)) continue;
    const end = header.indexOf(';', at);
    return header.slice(at + start.length, end < 0 ? undefined : end).trim();
  }
  return undefined;
}

function beginsCookie(header: string, at: number): boolean {
  let before = at - 1;
  while (header[before] === ' ' || header[before] === '\t') before -= 1;
  return before < 0 || header[before] === ';';
}
