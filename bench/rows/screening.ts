import { makePairs, withStore } from '../../server/test/store.ts';
import { compareRates } from '../lib/compare.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai } from '../lib/namjai.ts';
import { atLeast, type Row } from '../lib/row.ts';

export const screening: Row = {
  name: 'screening',
  title: 'POST /v1/tips, 500 blocked words',
  what: 'POST /v1/tips of creators with 500 blocked words and everything held',
  measuredAs: 'requests/s ÷ of creators without rules, on the same server',
  goal: atLeast(0.8),
  cheap: true,
  lasts: { setup: 30, round: 6 },
  async measure(bench) {
    const env = newStore(bench);
    bench.progress('making apps, creators and tokens');
    const [screened, plain] = await withStore(env, async (runtime) => {
      const apps = bench.short ? 5 : 160;
      const both = [await makePairs(runtime, 50, apps), await makePairs(runtime, 50, apps)] as const;
      const creators = new Set(both[0].map(({ creatorId }) => creatorId));
      for (const creatorId of creators) await runtime.screening.change(creatorId, () => rules);
      return both;
    });
    const ours = await startNamjai(bench, env);
    const load = createLoad(bench);
    const side = async (label: string, pairs: typeof plain) => {
      const tokens = pairs.map(({ accessToken }) => accessToken);
      await load.showTokens(ours.port, tokens);
      const spec = { ...recording, port: ours.port, tokens };
      return load.side(label, ours.child, spec, roomPerRun(bench, pairs.length, 'tips'));
    };
    return compareRates(bench, {
      ours: await side('500 blocked words, everything held', screened),
      reference: await side('no rules', plain),
    });
  },
};

const recording = {
  kind: 'cycle',
  method: 'POST',
  path: '/v1/tips',
  body: { amount: 150.5, name: 'SOMCHAI', display_name: 'สมชาย', message: 'Great stream! Thank you for playing' },
  connections: 64,
  status: 201,
} as const;

/** Words of three to nine letters that begin like those of the message. */
const words = Array.from({ length: 500 }, (_, i) => `${'gstyfp'[i % 6]}${(i * 7919).toString(26)}x`);

const rules = {
  lists: [{ id: 'own', title: 'Own', words, except: [], match: 'words', action: 'mask' }],
  links: 'allow',
  numbers: 'allow',
  blockedNames: [],
  hold: { everything: true, newNames: false, fromMinor: null },
} as const;
