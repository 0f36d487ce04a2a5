import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const css = readFileSync(new URL('./style.css', import.meta.url), 'utf8');

function variables(block: string): Map<string, string> {
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((match) => [match[1] ?? '', match[2] ?? '']));
}

const [lightBlock = '', darkBlock = ''] = css.split('@media (prefers-color-scheme: dark)');
const light = variables(lightBlock);
const dark = variables(darkBlock.slice(0, darkBlock.indexOf('/* Ground */')));

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const grounds = ['bg', 'surface', 'sunken', 'glow'];
const tones = ['info', 'ok', 'warn', 'error'];
const text: [string, string][] = [
  ...grounds.flatMap((ground): [string, string][] => [
    ['text', ground],
    ['muted', ground],
    ['link', ground],
  ]),
  ...tones.flatMap((tone): [string, string][] => [
    [tone, `${tone}-soft`],
    [tone, 'surface'],
  ]),
  ['text', 'error-soft'],
  ['link', 'accent-soft'],
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
];
const outlines: [string, string][] = ['bg', 'surface'].flatMap((ground): [string, string][] => [
  ['control', ground],
  ['focus', ground],
  ['accent', ground],
]);

for (const [scheme, colours] of Object.entries({ light, dark })) {
  const check = (pairs: [string, string][], least: number) => {
    for (const [front, back] of pairs) {
      const ratio = contrast(colours.get(front) ?? '', colours.get(back) ?? '');
      assert.ok(ratio >= least, `${scheme}: --${front} on --${back} is ${ratio.toFixed(2)}, needs ${least}`);
    }
  };
  test(`text meets AA contrast, ${scheme}`, () => check(text, 4.5));
  test(`controls and focus meet AA contrast, ${scheme}`, () => check(outlines, 3));
}

test('both schemes define the same colours, and nothing remote is loaded', () => {
  assert.ok(light.size > 20);
  assert.deepEqual([...dark.keys()].sort(), [...light.keys()].sort());
  assert.doesNotMatch(css, /url\(|@import|https?:/);
});
