/** The squares of a code: rows of dark modules. The library is loaded by the first code: a start must be quick. */
export async function qrModules(text: string): Promise<boolean[][]> {
  const { default: library } = await import('qrcode');
  const { size, data } = library.create(text, { errorCorrectionLevel: 'M' }).modules;
  return Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => data[y * size + x] === 1));
}
