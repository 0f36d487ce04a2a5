import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { createLog } from '../platform/log.ts';
import { createRuntime } from '../runtime.ts';
import { type Command, Failure, text } from './command.ts';

/** The document does not depend on where a server runs: it is made with the settings' defaults on a store of a moment. */
async function makeDocument(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-'));
  const config = readConfig({ DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}` });
  const runtime = await createRuntime(config, { log: createLog({ level: 'silent' }) });
  try {
    const { http, document } = createApp(runtime);
    await http.ready();
    return `${JSON.stringify(document(), null, 2)}\n`;
  } finally {
    await runtime.close();
    rmSync(directory, { recursive: true });
  }
}

export const openapi: Command = {
  usage: 'openapi',
  summary: 'Print the API document',
  options: { check: { type: 'string', value: 'FILE', help: 'Fail if this file is not the present document' } },
  async run({ values }) {
    const document = await makeDocument();
    const file = text(values, 'check');
    if (file === undefined) {
      process.stdout.write(values.json ? `${JSON.stringify(JSON.parse(document))}\n` : document);
      return undefined;
    }
    if (readFileSync(file, 'utf8') !== document)
      throw new Failure('document_drift', `${file} is out of date. Run: npm run -s namjai -- openapi > ${file}`);
    return { json: { up_to_date: true }, text: `${file} is up to date.` };
  },
};
