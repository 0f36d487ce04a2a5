import { type Command, withRuntime } from './command.ts';

export const demoRemove: Command = {
  usage: 'demo remove',
  summary: 'Take the demo creator, app and tips out of the database',
  run: ({ env }) =>
    withRuntime(env, async ({ demo }) => {
      const removed = await demo.remove();
      return {
        json: { removed: removed > 0 },
        text: removed > 0 ? 'The demo world is gone.' : 'There was no demo world.',
      };
    }),
};
