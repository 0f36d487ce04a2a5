import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Context, withRuntime } from './command.ts';
import { Failure } from './errors.ts';

export function addOpenapiCommand(program: Command, { print }: Context): void {
  program
    .command('openapi')
    .description('Print the API document')
    .option('--check <FILE>', 'Fail if this file is not the present document')
    .action(async ({ check: file }: { check?: string }) => {
      const document = await makeDocument();
      const text = JSON.stringify(document, null, 2);
      if (file === undefined) return print(document, text);
      if (readFileSync(file, 'utf8') !== `${text}\n`)
        throw new Failure('document_drift', `${file} is out of date. Run: npm run generate`);
      print({ up_to_date: true }, `${file} is up to date.`);
    });
}

/** Made with addresses of no real server, on a temporary database: the settings here change nothing of it. */
async function makeDocument(): Promise<object> {
  const { createApp } = await import('../app.ts');
  const directory = mkdtempSync(join(tmpdir(), 'namjai-'));
  try {
    const env = {
      DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`,
      BASE_URL: 'https://api.tips.example',
      AUTH_URL: 'https://tips.example',
      SECRET_KEY: randomBytes(32).toString('hex'),
    };
    return await withRuntime(
      env,
      async (runtime) => {
        const { http, document } = createApp(runtime);
        await http.ready();
        return document();
      },
      { create: true },
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}
