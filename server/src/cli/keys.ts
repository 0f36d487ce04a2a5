import { type Command, withRuntime } from './command.ts';

export const keysRotate: Command = {
  usage: 'keys rotate',
  summary: 'Sign new tokens with a new key; live tokens go on working',
  run: ({ env }) =>
    withRuntime(env, async ({ keys }) => {
      const kid = await keys.rotate();
      return {
        json: { kid },
        text: `In half a minute, when every node knows it, new tokens are signed with key ${kid}.`,
      };
    }),
};
