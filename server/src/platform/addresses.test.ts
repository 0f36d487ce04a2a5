import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './addresses.ts';

const networks: [address: string | undefined, network: string][] = [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['2001:db8:1:2::9', '2001:db8:1:2::'],
  ['192.0.2.7:50123', '192.0.2.7'],
  ['[2001:db8:1:2::9]:50123', '2001:db8:1:2::'],
  ['[::ffff:192.0.2.7]:50123', '192.0.2.7'],
  ['not an address', 'not an address'],
  // Of a connection that was closed while its request waited.
  [undefined, ''],
];

for (const [address, network] of networks)
  test(`${address} counts as ${network || 'nobody'}`, () => assert.equal(networkOf(address), network));
