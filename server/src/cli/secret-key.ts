import type { Command } from 'commander';
import type { Runtime } from '../runtime.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure } from './errors.ts';
import { createProgress } from './progress.ts';

export function addSecretKeyCommands(program: Command, context: Context): void {
  program
    .command('secret-key')
    .description('Manage the key that seals secrets at rest')
    .command('rotate')
    .description('Seal everything anew with SECRET_KEY, in place of SECRET_KEY_OLD, while the servers run')
    .option('--check', 'Change nothing: say how many secrets need the old key, and which keys the servers have')
    .action(({ check }: { check?: boolean }) =>
      withRuntime(context.env, (runtime) => (check ? report(runtime, context) : rotate(runtime, context))),
    );
}

/** A live node takes notice within seconds; one that hangs is forgotten after a minute. */
const patienceMs = 120_000;
const pollMs = 500;

async function rotate({ sealing, wait }: Runtime, { json, note, print }: Context): Promise<void> {
  const began = await sealing.begin();
  note(began ? 'From now on SECRET_KEY seals. Sealing the rest anew …' : 'Going on with the rotation that has begun …');
  const progress = createProgress(process.stderr);
  const onProgress = (done: number, total: number) => {
    if (!json) progress.bar({ done, total, unit: 'secrets' });
  };
  const deadline = performance.now() + patienceMs;
  let resealed = 0;
  for (let first = true; ; first = false) {
    const pass = await sealing.advance(first ? onProgress : undefined);
    if (first) progress.clear();
    resealed += pass.resealed;
    if (pass.unopened.length > 0)
      throw new Failure(
        'secrets_unopened',
        `${pass.unopened.length} secrets open with neither key, such as ${pass.unopened[0]}. Is SECRET_KEY_OLD the key that they were sealed with?`,
      );
    if (pass.complete) {
      print(
        { complete: true, secrets: pass.secrets, resealed },
        `Done: ${pass.secrets} secrets are sealed with SECRET_KEY. Nothing needs SECRET_KEY_OLD any more: unset it and restart the servers, one after another. Keep the old key apart, as long as you keep backups that were made before.`,
      );
      return;
    }
    if (performance.now() > deadline)
      throw new Failure(
        'nodes_behind',
        `These servers do not seal with the new key yet: ${pass.behind.join('; ')}. The rotation has begun and stays so: restart them with both keys, then run this again.`,
      );
    if (first) note('Waiting until every server seals with SECRET_KEY, and looking again …');
    await wait(pollMs);
  }
}

async function report({ sealing }: Runtime, { print }: Context): Promise<void> {
  const status = await sealing.status();
  const { begun, complete, secrets, old, unopened, nodes } = status;
  const state = complete
    ? 'The rotation is complete: SECRET_KEY_OLD may be unset.'
    : begun
      ? 'A rotation has begun and is not complete: run namjai secret-key rotate.'
      : old > 0
        ? 'No rotation has begun.'
        : 'Nothing needs an old key.';
  print(
    { ...status, unopened: unopened.length },
    [
      `${secrets} secrets are sealed: ${secrets - old - unopened.length} with SECRET_KEY, ${old} with SECRET_KEY_OLD, ${unopened.length} with neither.`,
      ...nodes.map(
        ({ name, has_both_keys, seals_with_new }) =>
          `  ${name}: ${has_both_keys ? `has both keys, seals with the ${seals_with_new ? 'new' : 'old'} one` : 'has one key only'}`,
      ),
      state,
    ].join('\n'),
  );
}
