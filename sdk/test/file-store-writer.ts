/** A process that counts up one entry of a file store (file-store.kill.test.ts), and tells of each write that was made. */
import { fileStore } from '../src/oauth/file-store.ts';

const store = fileStore(process.argv[2] ?? '');
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
for (;;) {
  const expected = await store.read('count');
  const value = `${Number.parseInt(expected ?? '0', 10) + 1} ${crypto.randomUUID()}`;
  if (await store.write('count', value, expected)) process.send?.({ expected, value });
}
