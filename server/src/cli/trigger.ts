import { tipFields } from '../features/tips/index.ts';
import { Type } from '../platform/http/type.ts';
import { createChecker } from '../platform/http/validation.ts';
import type { Runtime } from '../runtime.ts';
import { type Call, type Command, Failure, text, withRuntime } from './command.ts';

const options = {
  creator: { type: 'string', value: 'U', help: 'Username of the creator', required: true },
  amount: { type: 'string', value: 'BAHT', help: 'Default 100' },
  name: { type: 'string', value: 'N', help: 'Default NAMJAI' },
  'display-name': { type: 'string', value: 'D', help: 'Shown in place of the name' },
  message: { type: 'string', value: 'M', help: 'Text of the tip' },
} as const;

/** Holds what was typed to the rules of the API. */
function readFields(values: Call['values'], { config }: Runtime) {
  const { amount, name, message, display_name } = tipFields(config);
  const schema = Type.Object({ amount, name, message, display_name });
  const fields = {
    amount: Number(text(values, 'amount') ?? '100'),
    name: text(values, 'name') ?? 'NAMJAI',
    message: text(values, 'message') ?? null,
    display_name: text(values, 'display-name') ?? null,
  };
  const broken = createChecker()(schema)(fields);
  if (broken.length > 0)
    throw new Failure(
      'validation_failed',
      broken.map(({ field, message }) => `--${field?.replace('_', '-')} ${message}`).join('; '),
    );
  return fields;
}

const tip: Command = {
  usage: 'trigger tip',
  summary: 'Record a tip, as an app would',
  options,
  run: ({ values, env }) =>
    withRuntime(env, async (runtime) => {
      const fields = readFields(values, runtime);
      const creator = await runtime.accounts.byUsername(text(values, 'creator') ?? '');
      const { tip } = await runtime.tips.record({
        creatorId: creator.id,
        app: null,
        ...fields,
        displayName: fields.display_name,
      });
      return { json: tip, text: `Tip ${tip.id} of ฿${tip.amount.toFixed(2)} recorded for ${creator.username}.` };
    }),
};

const alert: Command = {
  usage: 'trigger alert',
  summary: 'Send a test alert',
  options,
  run: ({ values, env }) =>
    withRuntime(env, async (runtime) => {
      const fields = readFields(values, runtime);
      const creator = await runtime.accounts.byUsername(text(values, 'creator') ?? '');
      const alert = await runtime.alerts.send({ creatorId: creator.id, ...fields, displayName: fields.display_name });
      return { json: alert, text: `Test alert ${alert.id} sent to ${creator.username}.` };
    }),
};

export const triggerCommands: readonly Command[] = [tip, alert];
