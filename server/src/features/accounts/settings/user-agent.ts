/** "Firefox, Windows" from a User-Agent header, well enough to tell one's own devices apart; empty if it says nothing. */
export function deviceOf(userAgent: string): string {
  const find = (table: readonly (readonly [RegExp, string])[]) => table.find(([form]) => form.test(userAgent))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(', ');
}

/** In this order: most browsers also claim to be the ones after them. */
const browsers = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/OPR\/|Opera/, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/Line\//, 'LINE'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;

const systems = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/CrOS/, 'ChromeOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;
