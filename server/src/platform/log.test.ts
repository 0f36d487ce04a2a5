import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactUrl } from './log.ts';

test('security 24: an address in the log holds no credential, wherever it was put', () => {
  const cases = [
    ['/v1/tips?limit=5&cursor=abc', '/v1/tips?limit=…&cursor=…'],
    [`/v1/socket?${'eyJ'.repeat(20)}`, '/v1/socket?…'],
    [`/overlay/njo_${'k'.repeat(43)}`, '/overlay/[redacted]'],
    [`/overl%61y/njo_${'k'.repeat(43)}/events`, '/overl%61y/[redacted]/events'],
    [`/v1/tips/njr_${'k'.repeat(43)}`, '/v1/tips/[redacted]'],
    ['/docs?lang', '/docs?lang'],
  ] as const;
  for (const [url, logged] of cases) assert.equal(redactUrl(url), logged);
});
