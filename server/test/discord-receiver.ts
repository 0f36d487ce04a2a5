/**
 * A receiver of Discord's incoming webhooks, as strict as its public documentation: Execute Webhook, Embed Object and Embed
 * Limits, Allowed Mentions, Rate Limits, JSON Error Codes.
 */
import type { TestContext } from 'node:test';
import { type Receiver, startReceiver } from './receiver.ts';

export interface DiscordEmbed {
  readonly title?: string;
  readonly description?: string;
  readonly color?: number;
  readonly timestamp?: string;
  readonly footer?: { readonly text: string };
  readonly fields?: readonly { readonly name: string; readonly value: string }[];
}

export interface DiscordReceiver extends Receiver {
  /** The messages that were accepted. */
  readonly messages: { readonly embeds: readonly DiscordEmbed[] }[];
  /** What was refused, and why. */
  readonly refused: string[];
  /** How the next requests are answered; then as usual. */
  readonly next: ('rate_limited' | 'unknown_webhook' | 'invalid_token' | 'broken')[];
}

const limits = {
  title: 256,
  description: 4096,
  footer: 2048,
  fieldName: 256,
  fieldValue: 1024,
  all: 6000,
  content: 2000,
};
const known = new Set([
  ...['content', 'username', 'avatar_url', 'tts', 'embeds', 'allowed_mentions', 'components', 'flags', 'thread_name'],
]);

/** Why Discord refuses this body, or nothing. */
export function problemOf(body: string): string | undefined {
  const message = JSON.parse(body);
  const unknown = Object.keys(message).find((field) => !known.has(field));
  if (unknown !== undefined) return `unknown field ${unknown}`;
  const { content = '', embeds = [], allowed_mentions } = message;
  if (content === '' && embeds.length === 0) return 'empty message';
  if (content.length > limits.content) return 'content too long';
  if (embeds.length > 10) return 'too many embeds';
  // Without it the words of a message decide who is mentioned.
  if (JSON.stringify(allowed_mentions) !== '{"parse":[]}') return 'somebody could be mentioned';
  let all = 0;
  for (const { title = '', description = '', footer = { text: '' }, fields = [], color, timestamp } of embeds) {
    const texts: [string, number][] = [
      [title, limits.title],
      [description, limits.description],
      [footer.text, limits.footer],
    ];
    for (const { name, value } of fields) {
      if (!name.trim() || !value.trim()) return 'a field without a name or value';
      texts.push([name, limits.fieldName], [value, limits.fieldValue]);
    }
    for (const [text, most] of texts) {
      if (text.length > most) return `${text.length} characters where ${most} are allowed`;
      all += text.length;
    }
    if (!title.trim() && !description.trim()) return 'an empty embed';
    if (color !== undefined && !(Number.isInteger(color) && color >= 0 && color <= 0xffffff)) return 'a wrong color';
    if (timestamp !== undefined && new Date(timestamp).toISOString() !== timestamp) return 'a wrong timestamp';
  }
  return all > limits.all ? 'embeds too long' : undefined;
}

export async function startDiscord(
  t: Pick<TestContext, 'after'>,
  options: { readonly tls?: boolean } = {},
): Promise<DiscordReceiver> {
  const base = await startReceiver(t, options);
  const receiver: DiscordReceiver = Object.assign(base, {
    url: `${new URL(base.url).origin}/api/webhooks/1234567890123456789/aVerySecretToken-of_this.webhook`,
    messages: [],
    refused: [],
    next: [],
  });
  const reply = (status: number, body?: object, headers: Record<string, string> = {}) => ({ status, body, headers });
  base.answer = (response, { method, headers, body }) => {
    const answer = answerTo(method, headers['content-type'] ?? '', body);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  };
  function answerTo(method: string, type: string, body: string) {
    switch (receiver.next.shift()) {
      case 'rate_limited':
        return reply(
          429,
          { message: 'You are being rate limited.', retry_after: 1.337, global: false },
          { 'retry-after': '2', 'x-ratelimit-scope': 'user' },
        );
      case 'unknown_webhook':
        return reply(404, { message: 'Unknown Webhook', code: 10015 });
      case 'invalid_token':
        return reply(401, { message: 'Invalid Webhook Token', code: 50027 });
      case 'broken':
        return reply(502, { message: '502: Bad Gateway' });
    }
    const problem = method !== 'POST' || !type.startsWith('application/json') ? 'no POST of JSON' : problemOf(body);
    if (problem !== undefined) {
      receiver.refused.push(problem);
      return reply(400, { code: 50035, message: 'Invalid Form Body' });
    }
    receiver.messages.push(JSON.parse(body));
    return reply(204);
  }
  return receiver;
}
