#!/usr/bin/env node
// The server for the tests of apps, started by `startNamjai` of @namjai/sdk/testing.
import { load } from './load.js';

const { serveTests } = await load('testing');
await serveTests(process);
