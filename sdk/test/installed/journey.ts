/** Runs `use.ts`, or a bundle of it, against a server from the installed packages, and prints what came of it. */
import { createServer } from 'node:http';
import process from 'node:process';
import { memoryStore } from '@namjai/sdk/oauth';
import { startNamjai, storeConformance } from '@namjai/sdk/testing';
import type { use as useType } from './use.js';

const store = memoryStore();
const [, , module = './use.js'] = process.argv;
const { use }: { use: typeof useType } = await import(module);

const started = performance.now();
const namjai = await startNamjai();
const readyMs = Math.round(performance.now() - started);
const grant = await namjai.grant();

let resolve: (delivery: { headers: Record<string, string>; body: string }) => void = () => {};
const delivery = new Promise<{ headers: Record<string, string>; body: string }>((done) => {
  resolve = done;
});
const receiver = createServer((request, response) => {
  const chunks: Uint8Array[] = [];
  request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  request.on('end', () => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    response.writeHead(204).end();
    resolve({ headers, body: new TextDecoder().decode(Buffer.concat(chunks)) });
  });
});
await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
const address = receiver.address();
const port = typeof address === 'object' ? address?.port : undefined;
const endpoint = await fetch(`${namjai.baseUrl}/v1/webhooks`, {
  method: 'POST',
  headers: {
    authorization: `Basic ${btoa(`${grant.app.clientId}:${grant.app.clientSecret}`)}`,
    'content-type': 'application/json',
  },
  body: JSON.stringify({ url: `http://127.0.0.1:${port}/` }),
});
const { secret } = await endpoint.json();

const result = await use({ namjai, grant, secret, delivery });
for (const { run } of storeConformance(() => store)) await run();
receiver.closeAllConnections();
receiver.close();
await namjai.close();
console.log(JSON.stringify({ ...result, readyMs }));
