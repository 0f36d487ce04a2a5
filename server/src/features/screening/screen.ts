/** What the rules of a creator decide about one tip or test alert. */
import type { Steps } from '../../platform/pauses.ts';
import type { HoldReason } from '../events/index.ts';
import { nameKey } from './fold.ts';
import { createMatcher, type Finding } from './matcher.ts';
import { findLinks, findNumbers } from './patterns.ts';
import type { Action, Rules } from './rules.ts';

/** A text that is to be shown. */
export interface Words {
  readonly amountMinor: number;
  readonly name: string;
  readonly displayName: string | null;
  readonly message: string | null;
}

/** Why something was not left as it is. */
export type Reason =
  | { readonly kind: 'list'; readonly title: string; readonly action: Action }
  | { readonly kind: 'links' | 'numbers'; readonly action: Action }
  | { readonly kind: 'blocked_name' | 'everything' | 'new_name' | 'amount' };

export interface Verdict {
  readonly status: 'queued' | 'held' | 'blocked';
  /** What is shown; `null`: name and message as they were sent. */
  readonly shown: { readonly name: string; readonly message: string | null } | null;
  readonly reasons: readonly Reason[];
  /** The first rule that asks to hold it; null if it is not held. */
  readonly heldBy: HoldReason | null;
}

export interface CompiledRules {
  /** Tips of names that are not known are held. */
  readonly holdsNewNames: boolean;
  decide(words: Words, isKnown: boolean): Verdict;
}

/** Found in one text: spans to mask, and what the findings ask for. */
interface Found {
  readonly spans: readonly { readonly start: number; readonly end: number }[];
  readonly reasons: readonly Extract<Reason, { action: Action }>[];
}

const unchanged: Verdict = { status: 'queued', shown: null, reasons: [], heldBy: null };

/** Of a creator without rules. */
export const withoutRules: CompiledRules = { holdsNewNames: false, decide: () => unchanged };

export function* compileRules(rules: Rules): Steps<CompiledRules> {
  const matcher = yield* createMatcher(
    rules.lists.map(({ words, except, match }) => ({ words, except, anywhere: match === 'anywhere' })),
  );
  const blocked = new Set<string>();
  for (const name of rules.blockedNames) {
    yield;
    blocked.add(nameKey(name));
  }
  const { everything, newNames, fromMinor } = rules.hold;
  const readsTexts = rules.lists.length > 0 || rules.links !== 'allow' || rules.numbers !== 'allow';

  function findIn(text: string): Found {
    const findings = matcher.find(text);
    const spans: { start: number; end: number }[] = [...findings];
    const reasons = reasonsOf(findings, rules);
    for (const [kind, find] of patterns) {
      const action = rules[kind];
      const found = action === 'allow' ? [] : find(text);
      spans.push(...found);
      if (action !== 'allow' && found.length > 0) reasons.push({ kind, action });
    }
    return { spans, reasons };
  }

  const isBlocked = ({ name, displayName }: Words): boolean =>
    blocked.size > 0 && [name, displayName ?? name].some((each) => blocked.has(nameKey(each)));

  function holdReasons({ amountMinor }: Words, isKnown: boolean): Reason[] {
    const reasons: Reason[] = [];
    if (everything) reasons.push({ kind: 'everything' });
    if (newNames && !isKnown) reasons.push({ kind: 'new_name' });
    if (fromMinor !== null && amountMinor >= fromMinor) reasons.push({ kind: 'amount' });
    return reasons;
  }

  return {
    holdsNewNames: newNames,
    decide(words, isKnown) {
      const { shown, reasons } = readsTexts ? screenTexts(words, findIn) : { shown: null, reasons: [] };
      if (isBlocked(words)) {
        const name = shown?.name ?? words.displayName ?? words.name;
        const all: Reason[] = [{ kind: 'blocked_name' }, ...reasons];
        return { status: 'blocked', shown: { name, message: null }, reasons: all, heldBy: null };
      }
      const all = [...reasons, ...holdReasons(words, isKnown)];
      if (all.length === 0) return unchanged;
      const heldBy = all.map(holdReason).find((reason) => reason !== null) ?? null;
      return { status: heldBy === null ? 'queued' : 'held', shown, reasons: all, heldBy };
    },
  };
}

function holdReason(reason: Reason): HoldReason | null {
  if ('action' in reason && reason.action !== 'hold') return null;
  if (reason.kind === 'list') return 'word_list';
  return reason.kind === 'blocked_name' ? null : reason.kind;
}

const patterns = [
  ['links', findLinks],
  ['numbers', findNumbers],
] as const;

/** One reason for each list that found something. */
function reasonsOf(findings: readonly Finding[], { lists }: Rules): Extract<Reason, { action: Action }>[] {
  const found = new Set(findings.map(({ list }) => list));
  return [...found].flatMap((index) => {
    const list = lists[index];
    return list ? [{ kind: 'list' as const, title: list.title, action: list.action }] : [];
  });
}

/** A name is masked where a message would be hidden: something must be shown in its place. */
function screenTexts({ name, displayName, message }: Words, findIn: (text: string) => Found) {
  const sentName = displayName ?? name;
  const inName = findIn(sentName);
  const inMessage = findIn(message ?? '');
  const reasons = [...inName.reasons, ...inMessage.reasons];
  const asks = (found: Found, wanted: Action) => found.reasons.some(({ action }) => action === wanted);
  const maskName = asks(inName, 'hide') || asks(inName, 'mask');
  if (!maskName && !asks(inMessage, 'hide') && !asks(inMessage, 'mask')) return { shown: null, reasons };
  const masked = asks(inMessage, 'mask') ? mask(message ?? '', inMessage.spans) : message;
  return {
    shown: {
      name: maskName ? mask(sentName, inName.spans) : sentName,
      message: asks(inMessage, 'hide') ? null : masked,
    },
    reasons,
  };
}

const longestMask = 12;

/** Puts stars in place of the spans, which may overlap. */
function mask(text: string, spans: readonly { readonly start: number; readonly end: number }[]): string {
  let masked = '';
  let at = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    const length = [...text.slice(Math.max(start, at), end)].length;
    masked += `${text.slice(at, Math.max(start, at))}${'*'.repeat(Math.min(length, longestMask))}`;
    at = end;
  }
  return masked + text.slice(at);
}
