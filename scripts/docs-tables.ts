/**
 * Tables of the guides that come from tables in the code. `npm run generate` writes them; with `--check` this
 * script fails while they differ.
 * In a guide they are between `<!-- table: NAME -->` and `<!-- end -->`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { durationText } from '../server/src/cli/progress.ts';
import { describeSettings } from '../server/src/config.ts';
import { errorTable } from '../server/src/errors.ts';
import { localServer } from '../server/src/features/docs/markdown.ts';
import type { ApiDocument } from '../server/src/features/docs/openapi.ts';
import { guideSample } from '../server/src/features/docs/samples/index.ts';
import { describeEventTypes } from '../server/src/features/events/index.ts';
import { limits, scopes } from '../server/src/features/oauth/index.ts';
import { closeReasons } from '../server/src/features/sockets/index.ts';
import { listenerCloseReasons } from '../server/src/features/webhooks/index.ts';
import { migrations } from '../server/src/platform/db/migrations/index.ts';
import { lengthOf, proofs, secondsOf, shortRoundOf } from './proofs.ts';

export const docsFolder = new URL('../docs/', import.meta.url);

const row = (...cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

const table = (head: string[], rows: string[][]) =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');

const yesOrNo = (note: true | string): string => (note === true ? 'yes' : `no: ${note}`);

const tables: Record<string, () => string> = {
  errors: () =>
    table(
      ['status', 'code', 'what to do'],
      Object.entries(errorTable).map(([code, [status, words]]) => [
        String(status),
        `\`${code}\``,
        words.replace(/<\w+>/g, '`$&`'),
      ]),
    ),
  events: () =>
    table(
      ['type', 'when', 'data', 'goes to'],
      describeEventTypes().map(({ type, when, data, goesTo }) => [`\`${type}\``, when, `\`${data}\``, goesTo]),
    ),
  closes: () =>
    table(
      ['code', 'reason', 'what to do'],
      Object.values(closeReasons).map(({ code, reason, advice }) => [String(code), reason, advice]),
    ),
  listener_closes: () =>
    table(
      ['code', 'reason', 'what to do'],
      Object.values(listenerCloseReasons).map(({ code, reason, advice }) => [String(code), reason, advice]),
    ),
  scopes: () =>
    table(
      ['scope', 'allows'],
      Object.entries(scopes).map(([name, { meaning }]) => [`\`${name}\``, meaning]),
    ),
  limits: () =>
    table(
      ['group', 'counts', 'for each', 'requests a minute'],
      Object.entries(limits).map(([name, { counts, per, limit }]) => [`\`${name}\``, counts, per, String(limit)]),
    ),
  settings: () =>
    table(
      ['setting', 'default', 'meaning'],
      describeSettings({}).map(({ name, value, help }) => [`\`${name}\``, value ? `\`${value}\`` : '', help]),
    ),
  migrations: () =>
    table(
      ['migration', 'old and new nodes together', 'the version before starts again'],
      migrations.map(({ name, together, back }) => [`\`${name}\``, yesOrNo(together), yesOrNo(back)]),
    ),
  proofs: () =>
    table(
      ['proof', 'shows', 'length', 'takes about', 'in `npm test`'],
      proofs.map((proof) => [
        `\`${proof.name}\``,
        proof.shows,
        lengthOf(proof),
        durationText(secondsOf(proof)),
        shortRoundOf(proof),
      ]),
    ),
};

/** The document with the address that the guides have in the repository. */
const apiDocument = (): ApiDocument =>
  JSON.parse(
    readFileSync(new URL('../openapi.json', import.meta.url), 'utf8').replace(
      /https:\/\/(api\.)?tips\.example(?=["/])/g,
      localServer,
    ),
  );

/** A block that names an operation holds its curl command; the served page shows the other languages too. */
function withSamples(guide: string): string {
  return guide.replace(
    /^( *)```sh sample (\w+)(?: (\{.*\}))?\n[\s\S]*?\n *```$/gm,
    (whole, indent: string, operationId: string, overrides = '{}') => {
      const [info = ''] = whole.split('\n', 1);
      const [curl] = guideSample(apiDocument(), operationId, JSON.parse(overrides)).texts;
      return [info, ...(curl?.text.split('\n') ?? []).map((line) => indent + line), `${indent}\`\`\``].join('\n');
    },
  );
}

/** The guide with its tables and samples as the code has them now. */
export function withTables(guide: string): string {
  return withSamples(guide).replace(/<!-- table: (\w+) -->\n[\s\S]*?<!-- end -->/g, (_, name: string) => {
    const make = tables[name];
    if (!make) throw new Error(`There is no table "${name}"`);
    return `<!-- table: ${name} -->\n\n${make()}\n\n<!-- end -->`;
  });
}

if (import.meta.main)
  for (const name of readdirSync(docsFolder).filter((file) => file.endsWith('.md'))) {
    const file = new URL(name, docsFolder);
    const guide = readFileSync(file, 'utf8');
    const current = withTables(guide);
    if (!process.argv.includes('--check')) writeFileSync(file, current);
    else if (current !== guide) {
      console.error(`docs/${name} is out of date. Run: npm run generate`);
      process.exitCode = 1;
    }
  }
