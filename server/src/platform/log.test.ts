import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostileTexts } from '../../test/hostile-texts.ts';
import { startStopwatch } from '../../test/stopwatch.ts';
import { createLog } from './log.ts';
import { redactUrl } from './redact.ts';

const random = 'aZ3kQ9vB7xR1mT5wY8pL2sD6fG4hJ0nC-eU_iOq3Wz9'.replace(/[-_]/g, 'x');
const token = `eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJuYW1qYWkifQ.${random}${random}`;

test('security 52: an address in the log holds no credential, wherever it was put', () => {
  const cases = [
    ['/v1/tips?limit=5&cursor=abc', '/v1/tips?limit=…&cursor=…'],
    [`/v1/socket?${'eyJ'.repeat(20)}`, '/v1/socket?…'],
    [`/v1/socket%3Ftoken=${token}`, '/v1/socket?…'],
    [`/v1/me;token=short`, '/v1/me;…'],
    [`/v1/me#token=short`, '/v1/me#…'],
    [`/v1/me?a=b?njr_${random}#njr_${random}`, '/v1/me?a=…'],
    [`/overlay/njo_${random}`, '/overlay/[redacted]'],
    ['//overlay//short', '//overlay//[redacted]'],
    [`/overl%61y/njo_${random}/events`, '/overlay/[redacted]/events'],
    [`/overlay/%6ejo_${random}/state`, '/overlay/[redacted]/state'],
    [`/x/%256e%256a%256f%255f${random}/state`, '/x/[redacted]/state'],
    [`/v1/tips/njr_0123456789${random}/void`, '/v1/tips/[redacted]/void'],
    [`/x/njo_${random.slice(0, 20)}/${random.slice(20)}`, '/x/[redacted]'],
    [`/x/${random}/y`, '/x/[redacted]/y'],
    [`/%${'25'.repeat(20)}41`, '[redacted]'],
  ] as const;
  for (const [url, logged] of cases) assert.equal(redactUrl(url), logged);
});

test('a path that is too long is not logged, so that strangers cannot fill the disk with it', () => {
  for (const path of ['a'.repeat(60_000), '%'.repeat(60_000), `x/njo_${random}/`.repeat(100), '%u0025'.repeat(10_000)])
    assert.equal(redactUrl(`/${path}?lang=th`), '/[too long]?lang=…');
});

test('security 52: an address without a credential is logged as it came', () => {
  for (const url of [
    '/docs?lang',
    '/dashboard/overlay/settings',
    '/overlay/socket',
    '/overlay/worker.js',
    `/v1/webhooks/whk_${'0k'.repeat(13)}/deliveries/dlv_${'7z'.repeat(13)}/retry`,
    '/.well-known/oauth-authorization-server',
    '/@%E0%B8%99%E0%B9%89%E0%B8%B3',
    '/docs/a-guide-with-a-name-that-is-long-but-made-of-words',
  ])
    assert.equal(redactUrl(url), url);
});

test('security 52: a line holds no credential in any field, and stays JSON with all that is no secret', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'trace', stream: { write: (line) => void lines.push(line) } });
  const secrets = ['njs', 'njr', 'njc', 'njo', 'njd', 'njk', 'njm'].map((prefix) => `${prefix}_${random}`);
  secrets.push(token, `whsec_${Buffer.alloc(32, '+/ÿ').toString('base64')}`, random);
  secrets.push(Buffer.from(`app_1:njs_${random}`).toString('base64'));
  const encodings = [
    (text: string) => text,
    encodeURIComponent,
    (text: string) => encodeURIComponent(encodeURIComponent(text)),
    (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&'),
    (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%25$&'),
    (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%u00$&'),
  ];
  for (const secret of secrets)
    for (const encode of encodings) {
      const text = encode(secret);
      const err = Object.assign(new Error(`could not use "${text}"`), { code: 'ECONNREFUSED' });
      log.trace({ url: `/x?y=${text}`, headers: { authorization: `Basic ${text}`, deep: [{ x: text }] } }, 'odd');
      log.error({ err, a: { b: { c: { password: 'hunter2', cookie: ['a=b]'] } } } }, `%s failed: ${text}`);
      log.info({ code: 4408, error: 'token_expired', for: `app_${'0k'.repeat(13)}` }, 'socket closed');
      const [, failed, closed] = lines.map((line) => JSON.parse(line));
      assert.deepEqual([failed.err.code, failed.err.name], ['ECONNREFUSED', 'Error']);
      assert.deepEqual([closed.code, closed.error, closed.for], [4408, 'token_expired', `app_${'0k'.repeat(13)}`]);
      const logged = lines.splice(0).join('');
      assert.ok(!logged.includes(text.slice(4, 60)), `${text} in ${logged}`);
      assert.ok(!/hunter2|a=b/.test(logged));
    }
});

test('hostile text costs a log line no more than its length', () => {
  const log = createLog({ level: 'trace', stream: { write: () => {} } });
  for (const part of ['a', '%25', '%2', 'eyJ', 'njo_', 'A1b', '/overlay', '"', '\\', ';=', '%u00', 'whsec_%'])
    for (const text of [part.repeat(60_000 / part.length), `/${part.repeat(60_000 / part.length)}%41`]) {
      const stopwatch = startStopwatch();
      redactUrl(text);
      log.warn({ text }, text);
      const ms = stopwatch();
      assert.ok(ms < 3000, `${part}: ${ms} ms`);
    }
});

test('security 43: a text in the log is whole, on its line, and moves nothing on the screen', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', stream: { write: (line) => void lines.push(line) } });
  for (const text of Object.values(hostileTexts)) {
    log.info({ text }, text);
    log.line(`${JSON.stringify({ text })}\n`);
    for (const line of lines.splice(0)) {
      assert.equal(line.indexOf('\n'), line.length - 1);
      assert.doesNotMatch(line, /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]|\p{M}{5}/u);
      assert.equal(JSON.parse(line).text, text);
    }
  }
});
