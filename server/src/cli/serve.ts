import { readConfig } from '../config.ts';
import { serve } from '../main.ts';
import type { Command } from './command.ts';

export const serveCommand: Command = {
  usage: 'serve',
  summary: 'Run the server',
  async run({ env }) {
    await serve(readConfig(env));
    return undefined;
  },
};
