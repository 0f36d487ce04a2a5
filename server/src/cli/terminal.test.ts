import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { StreamEvent } from '../../../sdk/src/index.ts';
import { eventLine } from './events.ts';
import { describeForwarded } from './forward.ts';
import { createTerminal, withoutControls, withStylesOnly } from './terminal.ts';

const terminal = (columns: number, env: Record<string, string> = {}) =>
  createTerminal({ write: () => {}, isTTY: true, columns }, env);
const pipe = createTerminal({ write: () => {} }, {});

/** As it comes from a server. */
const event = (message: string): StreamEvent =>
  JSON.parse(
    JSON.stringify({
      id: 'evt_01m7hpjep1f8h9hyrms7e0xtpy',
      type: 'tip.created',
      sequence: 41,
      test: false,
      replay: false,
      creator_id: 'crt_1',
      created_at: '2026-11-15T04:00:00.000Z',
      data: { tip: { amount: 99, name: 'SOMCHAI', display_name: null, message } },
    }),
  );

test('what supporters wrote stays on its line, and no terminal obeys it', () => {
  const hostile = event('\u001b[2J\u001b]0;title\u0007line\none\u202etwo\r');
  assert.match(
    eventLine(hostile, pipe),
    /^(\d{4}-\d\d-\d\d )?\d\d:\d\d:00 {2}#41 tip\.created {2}฿99\.00 from SOMCHAI: \[2J \]0;title line one two$/,
  );
  assert.doesNotMatch(stripVTControlCharacters(eventLine(hostile, terminal(200))), /\p{Cc}|\p{Bidi_Control}/u);
});

test('what a server says stays on its line too: types, ids and messages of errors', () => {
  const hostile = '\u001b[2J\u009b1m\u202ex';
  const answer = { status: 200, error: null, body: null, retryAfter: null, timedOut: false, durationMs: 1 };
  const body = JSON.stringify({ id: `evt${hostile}`, type: `tip${hostile}`, sequence: 1 });
  for (const line of [
    eventLine(JSON.parse(JSON.stringify({ ...event('x'), type: `tip${hostile}` })), pipe),
    describeForwarded(body, answer, pipe).text,
    withoutControls(`refused ${hostile}`),
  ])
    assert.doesNotMatch(line, /\p{Cc}|\p{Bidi_Control}/u);
  assert.equal(withoutControls('one\n\ttwo'), 'one\n\ttwo');
});

test('lines are cut to the width of the terminal, and whole in a pipe', () => {
  const long = event('ก'.repeat(255));
  const shown = stripVTControlCharacters(eventLine(long, terminal(40)));
  assert.equal([...shown].length, 40);
  assert.ok(shown.endsWith('…'));
  assert.ok(eventLine(long, pipe).endsWith('ก'));
  const answer = {
    status: null,
    error: `ECONNREFUSED: ${'x'.repeat(200)}`,
    body: null,
    retryAfter: null,
    timedOut: false,
    durationMs: 3,
  };
  for (const columns of [40, 60, 80, 120]) {
    const { text } = describeForwarded(JSON.stringify(event('')), answer, terminal(columns));
    assert.ok(stripVTControlCharacters(text).length <= columns, text);
  }
});

test('colours only where they are wanted', () => {
  assert.match(eventLine(event(''), terminal(80)), /\u001b\[/);
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
    assert.doesNotMatch(eventLine(event(''), terminal(80, env)), /\u001b\[/);
  assert.doesNotMatch(eventLine(event(''), pipe), /\u001b\[/);
});

test('of what a command prints in colours, only the colours stay', () => {
  const styled = terminal(80).style('bold', 'name');
  assert.equal(withStylesOnly(`${styled}\n\tx`), `${styled}\n\tx`);
  assert.equal(withStylesOnly('\u001b[2J\u009b1m\u001b]0;t\u0007\u202ex'), ' [2J 1m ]0;t  x');
});
