/** `Firefox, Windows` from a User-Agent header; empty if neither is recognized. People tell their devices apart by it. */
export function deviceOf(userAgent: string): string {
  const find = (table: readonly (readonly [RegExp, string])[]) => table.find(([form]) => form.test(userAgent))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(', ');
}

/** The order matters: most browsers also name those that follow here. */
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
