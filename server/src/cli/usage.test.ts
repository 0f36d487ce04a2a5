import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { pathOf, runnableCommands } from './command.ts';
import { createProgram, main } from './main.ts';
import { createTerminal } from './terminal.ts';

/** A command that got as far as its action would fail on this setting with exit code 1. */
const env = { DATABASE_URL: 'no database' };

async function run(...args: string[]) {
  let [out, err] = ['', ''];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (err += text) };
  const code = await main(args, { env, stdout, stderr });
  return { code, out, err };
}

const terminal = createTerminal({ write: () => {} }, env);
const program = createProgram({ env, json: false, print: () => {}, note: () => {}, terminal }, { write: () => {} });
const nameOf = (command: Command): string[] => pathOf(command).slice(1);

/** Everything that the command needs, but for one option. */
const filled = ({ options, registeredArguments }: Command, without?: string): string[] => [
  ...registeredArguments.map(() => 'x'),
  ...options.filter(({ long, mandatory }) => mandatory && long !== without).flatMap(({ long }) => [String(long), 'x']),
];

/** Every way to type the command wrongly that its options and arguments allow. */
function wrongUses(command: Command): [args: string[], message: RegExp][] {
  const { options, registeredArguments } = command;
  return [
    [['--no-such-option'], /^Unknown option '--no-such-option'/],
    [[...filled(command), '--no-such-option'], /^Unknown option '--no-such-option'/],
    // In front, because behind an option that takes several values it would be one more of them.
    [['stray', ...filled(command)], /^Too many arguments/],
    ...options
      .filter(({ mandatory }) => mandatory)
      .map(({ long }): [string[], RegExp] => [filled(command, String(long)), new RegExp(`^${long} is required`)]),
    ...options
      .filter(({ required }) => required)
      .flatMap(({ long }): [string[], RegExp][] => [
        [[...filled(command, String(long)), String(long)], new RegExp(`^Option '${long} .*' argument missing`)],
        [[String(long), '--help', ...filled(command)], new RegExp(`^Option '${long} .*' argument missing`)],
      ]),
    ...(registeredArguments.length > 0
      ? [[filled(command).slice(1), /^Missing required argument .* Usage: namjai /] as [string[], RegExp]]
      : []),
  ];
}

async function assertRefused(args: readonly string[], message: RegExp): Promise<void> {
  const plain = await run(...args);
  const typed = args.join(' ');
  assert.deepEqual([plain.code, plain.out], [2, ''], `${typed}: ${plain.err}`);
  assert.match(plain.err, /^namjai: .*(See: namjai .*--help|Usage: namjai .*)\n$/, typed);
  assert.match(plain.err.replace('namjai: ', ''), message, typed);
  const machine = await run(...args.slice(0, 1), '--json', ...args.slice(1));
  assert.deepEqual([machine.code, machine.out], [2, ''], `${typed} --json`);
  assert.match(machine.err, /^\{.*\}\n$/, 'one object on one line');
  const { error, ...rest } = JSON.parse(machine.err);
  assert.deepEqual(rest, {});
  assert.deepEqual(error, { code: 'usage', message: plain.err.slice('namjai: '.length, -1) });
}

for (const command of runnableCommands(program)) {
  const name = nameOf(command);

  test(`${name.join(' ')}: wrong usage exits 2, says what to do, and does nothing`, async () => {
    for (const [args, message] of wrongUses(command)) await assertRefused([...name, ...args], message);
  });

  test(`${name.join(' ')}: --help names every argument and option`, async () => {
    const { code, out, err } = await run(...name, '--help');
    assert.deepEqual([code, err], [0, '']);
    assert.ok(out.startsWith(`Usage: namjai ${name.join(' ')} `), out);
    const words = [
      ...command.registeredArguments.map((each) => each.name()),
      ...command.options.map(({ long }) => long),
    ];
    for (const word of [...words, '--json', command.description()])
      assert.ok(out.replaceAll(/\s+/g, ' ').includes(String(word)), String(word));
    assert.equal((await run('--help')).out.includes(`  ${name.join(' ')} `), true, 'the overview names it');
  });
}

test('a group alone prints the help of its commands; what it does not have is refused', async () => {
  const isGroup = ({ commands, registeredArguments }: Command): boolean =>
    commands.length > 0 && registeredArguments.length === 0;
  for (const group of program.commands.filter(isGroup)) {
    const { code, out, err } = await run(group.name());
    assert.deepEqual([code, err], [0, '']);
    for (const command of group.commands) assert.ok(out.includes(`  ${nameOf(command).join(' ')} `));
    await assertRefused([group.name(), 'nothing'], new RegExp(`^There is no command "${group.name()} nothing"`));
  }
  await assertRefused(['nothing'], /^There is no command "nothing". See: namjai --help/);
  await assertRefused(['--nothing'], /^Unknown option '--nothing'. See: namjai --help/);
});

test('options that exclude or need each other are wrong usage', async () => {
  await assertRefused(['creator', 'password', 'mali', '--password', 'x', '--password-stdin'], /cannot be used with/);
  await assertRefused(['creator', 'password', 'mali', '--password', '--password-stdin'], /argument missing/);
  for (const args of [
    ['--from', 'sqlite:x'],
    ['--to', 'postgres://x'],
    ['--from', 'x', '--to', 'postgres://x'],
    ['--from', 'sqlite:x', '--to', 'x'],
  ])
    await assertRefused(['migrate', ...args], /^A move needs --from sqlite:FILE and --to postgres:/);
  const both = ['--server', 'https://tips.example', '--creator', 'mali'];
  for (const command of [['events'], ['trace', 'tip_x'], ['trigger', 'tip'], ['listen', '--forward-to', 'x']])
    await assertRefused(
      [...command, ...both],
      /^Option '--creator <U>' cannot be used with option '--server <URL>'\. See: namjai \w+.* --help/,
    );
});
