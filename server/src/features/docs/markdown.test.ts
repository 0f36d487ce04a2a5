import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inline, renderMarkdown } from './markdown.ts';

const cases: [name: string, source: string, expected: string | RegExp][] = [
  ['raw HTML is text', '<script>alert(1)</script>', '<p>&#60;script&#62;alert(1)&#60;/script&#62;</p>'],
  [
    'also in headings, cells and code',
    '## <b>\n\n| <i> |\n| --- |\n| `<u>` |',
    /^(?!.*<[biu]>).*&#60;b&#62;.*&#60;i&#62;.*&#60;u&#62;/s,
  ],
  ['a comment is left out', '<!-- table: x -->\n\nText\n\n<!-- end -->', '<p>Text</p>'],
  ['lines of a paragraph are one', 'one\ntwo', '<p>one two</p>'],
  ['inline marks', 'a **b `c`** *d*', '<p>a <strong>b <code>c</code></strong> <em>d</em></p>'],
  ['a star in code stays', '`a * b` and `c * d`', '<p><code>a * b</code> and <code>c * d</code></p>'],
  [
    'a fence keeps its lines',
    '```sh\na <b\n\n# c\n```\nafter',
    /<code>a &#60;b\n\n# c<\/code><\/pre><\/div><p>after<\/p>$/,
  ],
  ['lists within lists', '- a\n  more\n  - b\n- c', '<ul><li>a more<ul><li>b</li></ul></li><li>c</li></ul>'],
  ['a list right after its sentence', 'Text:\n1. a\n2. b', '<p>Text:</p><ol><li>a</li><li>b</li></ol>'],
  [
    'code within an item',
    '1. a\n\n   ```sh\n   b\n   ```\n\n2. c',
    /^<ol><li>a<div class="code">.*<code>b<\/code>.*<\/div><\/li><li>c<\/li><\/ol>$/,
  ],
  ['a bar within a cell', '| a |\n| --- |\n| b \\| c |', /<td role="cell" data-label="a">b \| c<\/td>/],
  [
    'a heading can be linked to',
    '## What to *do*?',
    '<h2 id="what-to-do"><a class="anchor" href="#what-to-do">What to <em>do</em>?</a></h2>',
  ],
  ['a link to a script is no link', '[x](javascript:alert) [y](//evil.example) [z](data:text)', '<p>x y z</p>'],
  [
    'a picture, with its words in its place where it has no address',
    '![a <b>](/c.svg) ![d](e.svg)',
    '<p><img src="/c.svg" alt="a &#60;b&#62;"> d</p>',
  ],
  [
    'a link elsewhere',
    '[a `b`](https://a.example/?x&y)',
    '<p><a href="https://a.example/?x&#38;y">a <code>b</code></a></p>',
  ],
];

for (const [name, source, expected] of cases)
  test(`markdown: ${name}`, () => {
    const { body } = renderMarkdown(source);
    if (typeof expected === 'string') assert.equal(body, expected);
    else assert.match(body, expected);
  });

test('two headings of the same words have two addresses, and the first paragraph is the introduction', () => {
  const { headings, intro } = renderMarkdown('# A\n\nFirst [link](b.md) and `code`.\n\n## B\n\n## B\n');
  assert.deepEqual(
    headings.map(({ id }) => id),
    ['a', 'b', 'b-1'],
  );
  assert.equal(intro, 'First link and code.');
});

test('text of the API document is escaped like any other', () => {
  assert.equal(inline('`<b>` <i> "x"'), '<code>&#60;b&#62;</code> &#60;i&#62; &#34;x&#34;');
});
