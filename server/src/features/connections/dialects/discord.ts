/**
 * Discord's incoming webhooks (https://discord.com/developers/docs/resources/webhook#execute-webhook): one embed a tip.
 *
 * - Nobody is mentioned: `allowed_mentions` is empty, and all of Discord's markup in names and messages is escaped, so that
 *   they make no link, no mention and no heading.
 * - A void is a second message. The first one is not edited: the server does not know its id.
 * - Discord allows each webhook a few messages a second, and bans senders that go on after a 429. So one message at a time
 *   is sent to a webhook, and a 429 pauses all of its messages for as long as it says.
 */
import { displayName, displayText, isBlank, withinSentence } from '../../../platform/web/browser/text.ts';
import { money } from '../../../platform/web/format.ts';
import { type Judge, pause, usualJudge, verdict } from '../../webhooks/index.ts';
import { type ConnectionEvent, type Dialect, type Message, userAgent } from './dialect.ts';

/** In code points, before each of them may get a backslash: titles have room for 256 characters, descriptions for 4,096. */
const most = { name: 100, message: 1000 };

const colors = { tip: 0x2e9e6b, test: 0x8a8f98, void: 0xc4453c } as const;

const markup = /[\\*_~`|>#+[\]()<:@-]/g;
const escapeMarkup = (text: string): string => text.replace(markup, '\\$&');

function embedOf({ treatment, name, message, amountMinor }: ConnectionEvent): object {
  if (treatment === 'void') return { title: 'Tip voided · ยกเลิกทิปแล้ว', description: money(amountMinor) };
  const who = escapeMarkup(withinSentence(displayText(displayName(name), { length: most.name })));
  const words = escapeMarkup(displayText(message ?? '', { length: most.message }));
  return {
    title: `${who} · ${money(amountMinor)}`,
    ...(isBlank(words) ? {} : { description: words }),
    ...(treatment === 'test' ? { footer: { text: 'Test · ทดสอบ' } } : {}),
  };
}

const write = (event: ConnectionEvent): Message => ({
  headers: { 'content-type': 'application/json', 'user-agent': userAgent },
  body: JSON.stringify({
    embeds: [{ ...embedOf(event), color: colors[event.treatment], timestamp: event.at }],
    allowed_mentions: { parse: [] },
  }),
});

const maxPauseMs = 24 * 3_600_000;
const unknownPauseMs = 5_000;

/** `retry_after` of the body is exact, in seconds with a fraction. Behind a proxy of theirs there is only the header. */
function pauseOf(body: string | null, header: string | null): number {
  const retryAfter = /"retry_after"\s*:\s*(\d{1,9}(?:\.\d+)?)/.exec(body ?? '')?.[1] ?? header ?? '';
  const ms = /^\d{1,9}(?:\.\d+)?$/.test(retryAfter) ? Math.ceil(Number(retryAfter) * 1000) : unknownPauseMs;
  return Math.min(Math.max(ms, 1), maxPauseMs);
}

/** 404: unknown webhook. 401: its token is not the right one any more. */
const judge: Judge = (answer) => {
  if (answer.status === 429) return pause(pauseOf(answer.body, answer.retryAfter));
  return answer.status === 404 || answer.status === 401 ? verdict('gone') : usualJudge(answer);
};

const hosts = /^(?:(?:canary|ptb)\.)?(?:discord|discordapp)\.com$/;
const path = /^\/api\/(?:v\d{1,2}\/)?webhooks\/\d{1,20}\/[\w-]{1,200}$/;
const query = /^(?:\?thread_id=\d{1,20})?$/;

export const discord: Dialect = {
  treatments: ['tip', 'test', 'void'],
  write,
  judge,
  isAddress: ({ protocol, host, pathname, search }) =>
    protocol === 'https:' && hosts.test(host) && path.test(pathname) && query.test(search),
  hasToken: false,
  maxRequests: 1,
  sample: {
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({
      embeds: [
        {
          title: 'สมชาย · ฿150.50',
          description: 'สู้ ๆ นะครับ',
          color: colors.tip,
          timestamp: '2026-11-15T04:00:00.000Z',
        },
      ],
      allowed_mentions: { parse: [] },
    }),
  },
};
