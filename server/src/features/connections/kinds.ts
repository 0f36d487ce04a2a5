/** The dialects as kinds of the webhook engine. */
import type { SafeFetch } from '../../platform/safe-fetch.ts';
import { type ConnectionKinds, httpTransport, type SentAnswer, type Transport } from '../webhooks/index.ts';
import { type Dialect, readEvent, typesOf } from './dialects/dialect.ts';
import { dialects } from './dialects/index.ts';

export interface KindsParts {
  readonly fetch: SafeFetch;
  /** The public page of a creator. */
  readonly pageUrl: (username: string) => string;
}

export function createConnectionKinds({ fetch, pageUrl }: KindsParts): ConnectionKinds {
  const transport = discreet(httpTransport(fetch));
  const kind = (dialect: Dialect): ConnectionKinds[string] => ({
    format: ({ secrets: [verificationToken = ''], username }) => {
      const recipient = { verificationToken, pageUrl: pageUrl(username ?? '') };
      return (stored) => {
        const event = readEvent(stored);
        if (!event) throw new Error('an event that must not be shown was to be sent to a connection');
        const { headers, body } = dialect.write(event, recipient);
        return { headers: { ...headers }, body, secrets: [verificationToken] };
      };
    },
    transport,
    judge: dialect.judge,
    maxRequests: dialect.maxRequests,
    types: typesOf(dialect),
  });
  return Object.fromEntries(Object.entries(dialects).map(([name, dialect]) => [name, kind(dialect)]));
}

const hidden = '…';
/** What is shorter is no secret, and may be a word of every answer. */
const shortest = 8;

/** A token as it stands in the body that was sent, and as a receiver may write it that has read the body. */
function spellings(token: string): string[] {
  const quoted = JSON.stringify(token).slice(1, -1);
  return [token, quoted, encodeURIComponent(quoted), new URLSearchParams({ '': quoted }).toString().slice(1)];
}

/** Address and token are secrets, and the log of deliveries is not sealed: an answer that repeats them loses them. */
const discreet = ({ send }: Transport): Transport => ({
  async send(sending) {
    const answer = await send(sending);
    if (answer === 'unsent') return answer;
    const { pathname, search } = new URL(sending.url);
    const tokens = (sending.secrets ?? []).flatMap(spellings);
    const secrets = [...tokens, search.slice(1), ...pathname.split('/')].filter(({ length }) => length >= shortest);
    const without = (text: string | null): string | null =>
      text && secrets.reduce((rest, secret) => rest.replaceAll(secret, hidden), text);
    return { ...answer, body: without(answer.body), error: without(answer.error) } satisfies SentAnswer;
  },
});
