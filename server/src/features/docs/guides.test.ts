import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readGuides } from './guides.ts';
import { renderMarkdown } from './markdown.ts';

const folder = new URL('../../../../docs/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
const translated = readdirSync(folder).filter((name) => name.endsWith('.th.md'));

/** The blocks of code, without the comments and texts that a translation may change. */
const samplesIn = (text: string) => text.match(/^ *```sh sample .*$/gm) ?? [];

for (const name of translated)
  test(`${name} has the parts, the samples and the tables of the guide that it translates`, () => {
    const [thai, english] = [read(name), read(name.replace('.th.md', '.md'))];
    const levels = (text: string) => renderMarkdown(text).headings.map(({ level }) => level);
    assert.deepEqual(levels(thai), levels(english));
    assert.deepEqual(samplesIn(thai), samplesIn(english));
    assert.deepEqual(thai.match(/<!-- table: \w+ -->/g), english.match(/<!-- table: \w+ -->/g));
  });

test('a link to a part of an English guide leads to the same part of its translation', async () => {
  const thai = await readGuides({ reader: 'th' });
  for (const { name, headings } of await readGuides()) {
    const guide = thai.find((each) => each.name === name);
    for (const { id, level } of headings)
      if (level > 1) assert.ok(guide?.body.includes(` id="${id}"`), `${name}#${id}`);
  }
});
