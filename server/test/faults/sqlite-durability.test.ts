import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import { openSqlite } from '../../src/platform/db/sqlite.ts';

const writer = join(import.meta.dirname, 'sqlite-writer.ts');
const strace = spawnSync('strace', ['-V']).status === 0;
const needsStrace = { skip: strace ? false : 'needs strace: install it to count disk flushes' };

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-durability-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** A group of its own, so that what runs below strace can be killed with it. */
function start(t: TestContext, command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  t.after(() => kill(child));
  return child;
}

/** Reads the child's lines until one fits, or it ends. */
async function linesUntil(child: ChildProcess, last: (line: string, count: number) => boolean): Promise<string[]> {
  assert.ok(child.stdout);
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (last(line, lines.length)) break;
  }
  return lines;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, 'close');
  process.kill(-child.pid, 'SIGKILL');
  await gone;
}

async function recorded(file: string): Promise<Set<number>> {
  const db = openSqlite({ file });
  try {
    return new Set((await db.all<{ n: number }>('SELECT n FROM entries')).map(({ n }) => n));
  } finally {
    await db.close();
  }
}

const numbers = (lines: readonly string[], word: string): number[] =>
  lines.filter((line) => line.startsWith(`${word} `)).map((line) => Number(line.split(' ')[1]));

const ascending = (a: number, b: number): number => a - b;

/** On the event loop, and on the writing thread. */
for (const where of ['loop', 'thread'] as const)
  describe(`Durability of SQLite ${where === 'loop' ? 'on the event loop' : 'on its thread'}`, () => {
    test('answers a write only after a flush that began after it, and shares flushes', needsStrace, async (t) => {
      const directory = temporaryDirectory(t);
      const log = join(directory, 'strace.log');
      const calls = 'trace=fdatasync,fsync,write';
      // A slow machine, too, has more than one write for the next flush.
      const slow = 'inject=fdatasync,fsync:delay_exit=20000';
      const args = [
        '-f',
        '-o',
        log,
        '-e',
        calls,
        '-e',
        slow,
        process.execPath,
        writer,
        where,
        join(directory, 'test.db'),
        '400',
        '20',
      ];
      const child = start(t, 'strace', args);
      await linesUntil(child, (line) => line === 'finished');
      const events = [...readFileSync(log, 'utf8').matchAll(/(f(?:data)?sync)\(|write\(1, "(began|recorded) (\d+)/g)];
      let flushes = 0;
      const flushesAtBegin = new Map<string, number>();
      // While the pipe is full, a line is written again and again.
      const answered = new Set<string>();
      for (const [, flush, word, n = ''] of events) {
        if (flush) flushes += 1;
        else if (word === 'began') flushesAtBegin.set(n, flushes);
        else if (!answered.has(n)) {
          answered.add(n);
          assert.ok(flushes > (flushesAtBegin.get(n) ?? flushes), `write ${n} was answered without a flush`);
        }
      }
      assert.equal(answered.size, 400);
      assert.ok(flushes < 200, `${flushes} flushes for 400 writes`);
    });

    // Which flushes fail: a single one, some, or all from then on. The first are those of opening and of the first writes.
    for (const when of ['15', '15..19', '15+']) {
      test(
        `forgets a write that it refused because flush ${when} failed, also after kill -9`,
        needsStrace,
        async (t) => {
          const file = join(temporaryDirectory(t), 'test.db');
          const inject = `inject=fdatasync,fsync:error=EIO:when=${when}`;
          const args = ['-f', '-o', '/dev/null', '-e', inject, process.execPath, writer, where, file, '60', '1'];
          const child = start(t, 'strace', args);
          const lines = await linesUntil(child, (line) => line.startsWith('refused'));
          await kill(child);
          const [refused] = numbers(lines, 'refused');
          assert.match(lines.at(-1) ?? '', /StorageUnavailable/);
          assert.ok(refused !== undefined && refused > 1);
          const present = await recorded(file);
          assert.equal(present.has(refused), false, `the refused write ${refused} is there`);
          for (const n of numbers(lines, 'recorded')) assert.ok(present.has(n), `the recorded write ${n} is not there`);
        },
      );
    }

    test('goes on by itself when the disk flushes again', needsStrace, async (t) => {
      const file = join(temporaryDirectory(t), 'test.db');
      const inject = 'inject=fdatasync,fsync:error=EIO:when=15..25';
      const args = ['-f', '-o', '/dev/null', '-e', inject, process.execPath, writer, where, file, '400', '4'];
      const child = start(t, 'strace', args);
      const lines = await linesUntil(child, (line) => line === 'finished');
      await kill(child);
      assert.ok(numbers(lines, 'refused').length > 0);
      assert.ok(Math.max(...numbers(lines, 'recorded')) > Math.max(...numbers(lines, 'refused')));
      assert.deepEqual([...(await recorded(file))].sort(ascending), numbers(lines, 'recorded').sort(ascending));
    });

    test('has everything that was answered after kill -9 in the middle of a load', async (t) => {
      const file = join(temporaryDirectory(t), 'test.db');
      const answered: number[] = [];
      for (let round = 1; round <= 4; round += 1) {
        const child = start(t, process.execPath, [writer, where, file, '1000000', '32']);
        const lines = await linesUntil(child, (_, count) => count >= 1_000 * round);
        await kill(child);
        answered.push(...numbers(lines, 'recorded'));
        const present = await recorded(file);
        assert.deepEqual(
          answered.filter((n) => !present.has(n)),
          [],
        );
      }
      assert.ok(answered.length > 2_000);
    });
  });
