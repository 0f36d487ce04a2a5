import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';

/** RFC 4180, strictly: rows of cells. */
function parse(text: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y;
  while (cell.lastIndex < text.length) {
    const [, raw = '', end] = cell.exec(text) ?? assert.fail(`not CSV: ${text.slice(cell.lastIndex)}`);
    rows.at(-1)?.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

test('security 44: what people wrote is text in the file, and never a formula, whatever a reader splits at', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const cases: [written: string, cell: string][] = [
    ['Great stream!', 'Great stream!'],
    ['ขอบคุณ 😂', 'ขอบคุณ 😂'],
    ['a, "b"\r\nc\nd', 'a, "b"\nc\nd'],
    ['"', '"'],
    ['', ''],
    ['1-1=0', '1-1=0'],
    ['=HYPERLINK("https://evil.example","x")', '\'=HYPERLINK("https://evil.example","x")'],
    ['+66 81', "'+66 81"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'=1"],
    ['\r=1', "'=1"],
    ['\n=1', "'=1"],
    ['＝1', "'＝1"],
    ['hi;=1+1', "hi;'=1+1"],
    ['hi; =1+1', "hi;' =1+1"],
    ['hi;"=1+1"', 'hi;\'"=1+1"'],
    ['hi\t=1+1', 'hi =1+1'],
    ['hi\n-1\r\n@A1', "hi\n'-1\n'@A1"],
    ['hi\u2028+1', "hi\n'+1"],
    ['\u200b=1', "'\u200b=1"],
    ['a;b - c; d', 'a;b - c; d'],
    [`x${'\u0301'.repeat(200)}`, `x${'\u0301'.repeat(4)}`],
    ['evil\u202etxt', 'eviltxt'],
    ['\n'.repeat(60), ''],
  ];
  for (const [message] of cases)
    await app.runtime.tips.record({ creatorId, app: null, amount: 1, name: 'NOK', displayName: message, message });
  const file = await (await signedInVisitor(app, creatorId)).get('/dashboard/tips.csv');
  for (const separator of [',', ';', '\t'])
    for (const cell of file.body.slice(1).split(new RegExp(`[\r\n${separator}]`)))
      assert.doesNotMatch(cell, /^[\s"]*[=+\-@＝]/, `split at ${JSON.stringify(separator)}`);
  const [head = [], ...rows] = parse(file.body.slice(1));
  rows.reverse();
  for (const [index, [, cell]] of cases.entries()) {
    assert.equal(rows[index]?.[head.indexOf('message')], cell);
    assert.equal(rows[index]?.[head.indexOf('display_name')], cell);
  }
});

test('the file holds what the search selects, of this creator alone', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const other = await makeCreator(app.runtime);
  const words = { name: 'SOMCHAI', displayName: null, message: null };
  const goalBot = { id: pair.clientId, name: '=Goal Bot' };
  app.clock.set('2026-10-31T16:59:59.999Z');
  await app.runtime.tips.record({ creatorId: pair.creatorId, app: null, amount: 0.1, ...words });
  app.clock.set('2026-11-15T04:00:00.000Z');
  const { tip } = await app.runtime.tips.record({ creatorId: pair.creatorId, app: goalBot, amount: 1234.5, ...words });
  await app.runtime.tips.record({ creatorId: other.creatorId, app: null, amount: 77, ...words });
  const visitor = await signedInVisitor(app, pair.creatorId);

  const file = await visitor.get('/dashboard/tips.csv?from=2026-11-01');
  assert.equal(file.headers['content-type'], 'text/csv; charset=utf-8; header=present');
  assert.equal(file.headers['cache-control'], 'no-store');
  assert.equal(
    file.headers['content-disposition'],
    `attachment; filename="namjai-${pair.username}-2026-11-01-to-2026-11-15.csv"`,
  );
  assert.deepEqual(file.rawPayload.subarray(0, 3), Buffer.from([0xef, 0xbb, 0xbf]), 'Excel knows it for UTF-8');
  assert.deepEqual(parse(file.body.slice(1)), [
    'created_at,amount,currency,name,display_name,message,app_name,client_id,alert_status,id,source,status,voided_at,void_reason'.split(
      ',',
    ),
    [
      ...['2026-11-15T11:00:00.000+07:00', '1234.50', 'THB', 'SOMCHAI', '', '', "'=Goal Bot", pair.clientId],
      ...['queued', tip.id, 'api', 'recorded', '', ''],
    ],
  ]);
  const all = await visitor.get('/dashboard/tips.csv');
  assert.match(String(all.headers['content-disposition']), /"namjai-creator_\d+-to-2026-11-15\.csv"/);
  assert.deepEqual(
    parse(all.body.slice(1)).map((row) => row[1]),
    ['amount', '1234.50', '0.10'],
  );
  await app.runtime.tips.void(pair.creatorId, tip.id, { clientId: null, reason: '=1+1;@A1' });
  const [row] = parse((await visitor.get('/dashboard/tips.csv?status=voided')).body.slice(1)).slice(1);
  assert.deepEqual(row?.slice(8), [
    ...['skipped', tip.id, 'api', 'voided', '2026-11-15T11:00:00.000+07:00', "'=1+1;'@A1"],
  ]);
  const stranger = await createVisitor(app).get('/dashboard/tips.csv');
  assert.deepEqual([stranger.statusCode, stranger.headers.location?.startsWith('/login?')], [303, true]);
});

test('a long history is there to the last tip, and ten files a minute are enough', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creatorId, 2501);
  const visitor = await signedInVisitor(app, creatorId);
  const rows = parse((await visitor.get('/dashboard/tips.csv')).body.slice(1)).slice(1);
  assert.deepEqual(
    rows.map((row) => row[3]),
    Array.from({ length: 2501 }, (_, index) => `TIP ${2501 - index}`),
  );
  for (let i = 0; i < 9; i++) await visitor.get('/dashboard/tips.csv?q=none');
  const refused = await visitor.get('/dashboard/tips.csv');
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  app.clock.advance(60_000);
  assert.equal((await visitor.get('/dashboard/tips.csv')).statusCode, 200);
});
