#!/usr/bin/env node
import './fast-ticks.js';
import { load } from './load.js';

// `namjai creator list | head`: whoever reads may stop before the end. Commands that go on for ever notice it themselves.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
});

const { main } = await load('cli/main');
const code = await main(process.argv.slice(2));
// A server that runs has returned 0. After a failure nothing that is still open may keep the process alive.
if (code !== 0) process.exit(code);
