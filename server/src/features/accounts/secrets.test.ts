import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthenticator } from '../../../test/authenticator.ts';
import { buildApp } from '../../../test/build-app.ts';
import { storedBytes } from '../../../test/stored-bytes.ts';
import { createVisitor } from '../../../test/visitor.ts';
import { createLog } from '../../platform/log.ts';

test('security 24: database files and the log hold no password, session, challenge or recovery code', async (t) => {
  const lines: string[] = [];
  const log = createLog({ level: 'trace', stream: { write: (line: string) => lines.push(line) } });
  const app = await buildApp(t, {}, { log });
  const secrets: string[] = [];
  const secret = (text: string): string => {
    secrets.push(text);
    return text;
  };
  const visitor = createVisitor(app);
  await visitor.get('/signup');
  const keep = () => secret(visitor.cookies.get('namjai')!);
  keep();
  await visitor.post('/signup', { username: 'mali', password: secret('first password here') });
  keep();
  const page = await visitor.get('/account');
  secret(/name="csrf" value="([^"]+)"/.exec(page.body)![1]!);
  await visitor.post('/account/password', { password: secret('second password here') });
  const codes = (await visitor.post('/account/recovery-codes')).body.match(/\b[0-9a-z]{4}(-[0-9a-z]{4}){3}\b/g)!;
  for (const code of codes) {
    secret(code);
    secret(code.replaceAll('-', ''));
  }
  const challenge = secret((await visitor.post('/account/passkeys/options')).json().challenge);
  const { authUrl } = app.runtime.config;
  const added = await visitor.post('/account/passkeys', { credential: createAuthenticator(authUrl).create(challenge) });
  assert.equal(added.statusCode, 303);
  secret((await visitor.post('/login/passkey/options')).json().challenge);
  await visitor.post('/logout');
  await visitor.get('/login/recovery');
  await visitor.post('/login', { username: 'mali', password: secret('a wrong password') });
  await visitor.post('/login/recovery', { username: 'mali', code: codes[0]!, password: secret('third password here') });
  keep();
  assert.equal((await visitor.get('/account')).statusCode, 200);

  const everything = [(await storedBytes(app)).toString('latin1'), ...lines].join('\n');
  assert.ok(everything.includes('mali') && lines.length > 10, 'there is something to search');
  assert.ok(secrets.length > 25);
  assert.deepEqual(
    secrets.filter((text) => everything.includes(text)),
    [],
  );
});
