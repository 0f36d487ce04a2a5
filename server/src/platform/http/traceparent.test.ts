import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTraceParent } from './traceparent.ts';

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

test('a traceparent is read as the standard says, and ignored if it is malformed', () => {
  for (const header of [`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-00`, `cc-${traceId}-${spanId}-01-more`])
    assert.deepEqual(readTraceParent(header), { traceId, spanId }, header);
  for (const header of [
    undefined,
    '',
    [`00-${traceId}-${spanId}-01`],
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    `00-${traceId.slice(1)}"-${spanId}-01`,
    `cc-${traceId}-${spanId}-01-${'x'.repeat(600)}`,
  ])
    assert.equal(readTraceParent(header), undefined, String(header));
});
