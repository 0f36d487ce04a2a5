import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredEvent } from '../features/events/index.ts';
import { newWebhookSecret, signedHeaders, webhookKey } from '../features/webhooks/index.ts';
import { type Command, Failure, text, withRuntime } from './command.ts';

const lookMs = 250;
const answerMs = 15_000;

/**
 * Follows the event log in the store, so it sees whatever a server on the same store records. What it forwards looks
 * like a webhook, but it is tried once, and goes wherever the operator who typed the address wants, loopback included.
 */
export const listen: Command = {
  usage: 'listen',
  summary: 'Forward events to an address as webhooks would, for development',
  options: {
    creator: { type: 'string', value: 'U', help: 'Username of the creator', required: true },
    client: {
      type: 'string',
      value: 'ID',
      help: 'The app that listens; its grant needs events.subscribe',
      required: true,
    },
    'forward-to': { type: 'string', value: 'URL', help: 'Where events are posted, signed', required: true },
  },
  run: ({ values, env }) =>
    withRuntime(env, async ({ accounts, apps, grants, events }) => {
      const url = readUrl(text(values, 'forward-to') ?? '');
      const creator = await accounts.byUsername(text(values, 'creator') ?? '');
      const app = await apps.byId(text(values, 'client') ?? '');
      const mayListen = async () =>
        (await grants.connections(creator.id)).some(
          ({ client_id, scope }) => client_id === app.id && scope.split(' ').includes('events.subscribe'),
        );
      if (!(await mayListen()))
        throw new Failure('grant_unusable', `${app.name} has no grant of ${creator.username} with events.subscribe.`);
      const secret = newWebhookSecret();
      const key = webhookKey(secret);
      const print = values.json
        ? (line: object) => console.log(JSON.stringify(line))
        : (_: object, words: string) => console.log(words);
      const ended = untilSignal();
      let position = (await events.head(creator.id))?.sequence ?? 0;
      print(
        { listening: true, creator: creator.username, forward_to: url.href, secret },
        `Events of ${creator.username} go to ${url.href}, signed with\n${secret}\nPress Ctrl-C to stop.`,
      );
      while (!ended.aborted && (await mayListen())) {
        const news = await events.after(creator.id, position, 100);
        for (const event of news) {
          if (ended.aborted) break;
          const { id, type } = JSON.parse(event.body);
          const answer = await forward(url, key, id, event);
          position = event.sequence;
          print({ id, type, sequence: event.sequence, ...answer }, `${type} ${id} → ${answer.status ?? answer.error}`);
        }
        if (news.length === 0) await sleep(lookMs, undefined, { signal: ended }).catch(() => {});
      }
      return undefined;
    }),
};

function readUrl(typed: string): URL {
  if (URL.canParse(typed) && /^https?:$/.test(new URL(typed).protocol)) return new URL(typed);
  throw new Failure('url_invalid', `"${typed}" is not an address that begins with http:// or https://.`);
}

async function forward(url: URL, key: KeyObject, id: string, { body }: StoredEvent) {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: signedHeaders([key], id, Date.now(), body),
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMs),
    });
    await answer.body?.cancel();
    return { status: answer.status, error: null };
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    return { status: null, error: cause instanceof Error ? cause.message || message : message };
  }
}

function untilSignal(): AbortSignal {
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  return ended.signal;
}
