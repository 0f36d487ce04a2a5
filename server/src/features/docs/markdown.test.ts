import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from '../../platform/web/html.ts';
import { inline, renderMarkdown } from './markdown.ts';

const cases: [name: string, source: string, expected: string | RegExp][] = [
  ['raw HTML is text', '<script>alert(1)</script>', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  [
    'also in headings, cells and code',
    '## <b>\n\n| <i> |\n| --- |\n| `<u>` |\n\n```\n<s>\n```',
    /^(?!.*<[bius]>).*&lt;b&gt;.*&lt;i&gt;.*&lt;u&gt;.*&#60;s&#62;/s,
  ],
  ['a comment is left out', '<!-- table: x -->\n\nText\n\n<!-- end -->', '<p>Text</p>'],
  ['lines of a paragraph are one', 'one\ntwo', '<p>one\ntwo</p>'],
  ['inline marks', 'a **b `c`** *d*', '<p>a <strong>b <code>c</code></strong> <em>d</em></p>'],
  ['a star in code stays', '`a * b` and `c * d`', '<p><code>a * b</code> and <code>c * d</code></p>'],
  ['an underscore within a name stays', 'client_id and request_id', '<p>client_id and request_id</p>'],
  [
    'a fence keeps its lines',
    '```sh\na <b\n\n# c\n```\nafter',
    /<code>a &#60;b\n\n# c<\/code><\/pre><\/div><p>after<\/p>$/,
  ],
  ['lists within lists', '- a\n  more\n  - b\n- c', '<ul><li>a\nmore\n<ul><li>b</li></ul></li><li>c</li></ul>'],
  ['a list right after its sentence', 'Text:\n1. a\n2. b', '<p>Text:</p><ol><li>a</li><li>b</li></ol>'],
  [
    'code within an item',
    '1. a\n\n   ```sh\n   b\n   ```\n\n2. c',
    /^<ol><li><p>a<\/p><div class="code" data-label="Shell">.*<code>b<\/code>.*<\/div><\/li><li><p>c<\/p><\/li><\/ol>$/,
  ],
  ['a bar within a cell', '| a |\n| --- |\n| b \\| c |', /<td role="cell" data-label="a">b \| c<\/td>/],
  ['each cell has the label of its own column', '| a | `b` |\n| --- | --: |\n| c | d |', /"a">c<.*data-label="b">d</],
  ['a column has no inline style', '| a |\n| --: |\n| b |', /^(?!.*style)/s],
  [
    'a heading can be linked to',
    '## What to *do*?',
    '<h2 id="what-to-do"><a class="anchor" href="#what-to-do">What to <em>do</em>?</a></h2>',
  ],
  [
    'a link to a script is no link',
    '[x](javascript:alert) [y](//evil.example) [z](data:text) [u](JAVASCRIPT&colon;alert) <javascript:alert>',
    /^<p>[^<]*<\/p>$/,
  ],
  ['a link that leads nowhere keeps its words', '[a *b*](../c) d', '<p>a <em>b</em> d</p>'],
  [
    'a picture, with its words in its place where it is not of this site',
    '![a <b>](/c.svg) ![d](e.svg) ![f](https://g.example/h.svg)',
    '<p><img src="/c.svg" alt="a &lt;b&gt;"> d f</p>',
  ],
  [
    'a link elsewhere',
    '[a `b`](https://a.example/?x&y)',
    '<p><a href="https://a.example/?x&amp;y">a <code>b</code></a></p>',
  ],
];

for (const [name, source, expected] of cases)
  test(`markdown: ${name}`, () => {
    const body = renderMarkdown(source).body.replaceAll('>\n<', '><').trimEnd();
    if (typeof expected === 'string') assert.equal(body, expected);
    else assert.match(body, expected);
  });

test('two headings of the same words have two addresses, and the first paragraph is the introduction', () => {
  const { headings, intro } = renderMarkdown(
    '# A\n\nFirst [link](b.md)\nand `code`.\n\n## B\n\n## B\n\n## B 1\n\n## B\n',
  );
  assert.deepEqual(
    headings.map(({ id }) => id),
    ['a', 'b', 'b-1', 'b-1-1', 'b-2'],
  );
  assert.equal(intro, 'First link and code.');
});

test('text of the API document is escaped like any other', () => {
  assert.equal(inline('`<b>` <i> "x"'), '<code>&lt;b&gt;</code> &lt;i&gt; &quot;x&quot;');
});

test('a block that names an operation becomes its samples; where there are none, it stays as it is', () => {
  const source = '```sh sample createTip {"amount": 99}\ncurl http://localhost:8080/v1/tips\n```';
  const asked: unknown[] = [];
  const sample = (...args: unknown[]) => {
    asked.push(args);
    return html`<p>sample</p>`;
  };
  assert.equal(renderMarkdown(source, { sample }).body, '<p>sample</p>');
  assert.deepEqual(asked, [['createTip', { amount: 99 }]]);
  assert.match(
    renderMarkdown(source, { server: 'https://tips.example' }).body,
    />curl https:\/\/tips.example\/v1\/tips</,
  );
});
