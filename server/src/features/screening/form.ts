import type { FastifyRequest } from 'fastify';
import type { Steps } from '../../platform/pauses.ts';
import { formText } from '../../platform/web/form-body.ts';
import { defined, within } from '../../platform/web/form-checks.ts';
import { readMoney } from '../../platform/web/format.ts';
import { isLongEnough } from './matcher.ts';
import { type Action, actions, type HoldRules, limits, matches, type RuleList } from './rules.ts';
import type { ScreeningWords } from './words.ts';

/** What is wrong, by field. */
export type Wrong = Readonly<Record<string, string>>;

export interface TypedList {
  readonly title: string;
  readonly words: string;
  readonly except: string;
  readonly match: string;
  readonly action: string;
}

export interface TypedHold {
  readonly everything: boolean;
  readonly newNames: boolean;
  readonly fromAmount: string;
  readonly links: string;
  readonly numbers: string;
}

export interface TypedText {
  readonly name: string;
  readonly message: string;
  readonly amount: string;
}

export const readList = (request: FastifyRequest): TypedList => ({
  title: formText(request, 'title').trim(),
  words: formText(request, 'words'),
  except: formText(request, 'except'),
  match: formText(request, 'match'),
  action: formText(request, 'action'),
});

export const toTypedList = ({ title, words, except, match, action }: RuleList): TypedList => ({
  title,
  words: words.join('\n'),
  except: except.join('\n'),
  match,
  action,
});

export const readHold = (request: FastifyRequest): TypedHold => ({
  everything: formText(request, 'everything') !== '',
  newNames: formText(request, 'newNames') !== '',
  fromAmount: formText(request, 'fromAmount').trim(),
  links: formText(request, 'links'),
  numbers: formText(request, 'numbers'),
});

export const readText = (request: FastifyRequest): TypedText => ({
  name: formText(request, 'tryName').trim(),
  message: formText(request, 'tryMessage'),
  amount: formText(request, 'tryAmount').trim(),
});

const characters = (text: string): number => [...text].length;

/** Blank lines and repeated words included: a form has room for half a million. */
const maxLines = 5 * limits.words;

/** One entry on each line, each once. Of far too many lines, the first ones as they are. */
function entriesOf(text: string): string[] {
  const lines = text.split('\n', maxLines + 1);
  return lines.length > maxLines ? lines : [...new Set(lines.map((line) => line.trim()).filter(Boolean))];
}

/**
 * Whether there are more words than are compiled, or more letters. One character may be read as eighteen letters
 * (U+FDFA), and to fold two thousand words of those takes half a second.
 */
export function* isTooMuch(entries: readonly string[]): Steps<boolean> {
  if (entries.length > limits.words) return true;
  let letters = 0;
  for (const entry of entries)
    for (const part of entry.match(parts) ?? []) {
      yield;
      letters += part.normalize('NFKD').length;
      if (letters > limits.letters) return true;
    }
  return false;
}

/** An entry may be as long as the form. */
const parts = /.{1,100}/gsu;

export const tooMuch = (t: ScreeningWords): string =>
  t('tooManyWords', { count: limits.words, letters: limits.letters });

export function* parseList(typed: TypedList, t: ScreeningWords): Steps<Omit<RuleList, 'id'> | { wrong: Wrong }> {
  const [words, except] = [entriesOf(typed.words), entriesOf(typed.except)];
  if (yield* isTooMuch([...words, ...except])) return { wrong: { words: tooMuch(t) } };
  const match = matches.find((each) => each === typed.match);
  const action = actions.find((each) => each === typed.action);
  const wrong = defined({
    title: within(characters(typed.title), 1, limits.titleLength)
      ? undefined
      : t('titleError', { length: limits.titleLength }),
    words: yield* wordsError(words, t),
    except: yield* wordsError(except, t),
    match: match ? undefined : t('chooseError'),
    action: action ? undefined : t('chooseError'),
  });
  if (Object.keys(wrong).length > 0 || !match || !action) return { wrong };
  return { title: typed.title, words, except, match, action };
}

function* wordsError(words: readonly string[], t: ScreeningWords): Steps<string | undefined> {
  const bad: string[] = [];
  for (const word of words) {
    yield;
    if (characters(word) > limits.wordLength || !isLongEnough(word)) bad.push(word);
  }
  return bad.length === 0
    ? undefined
    : t('wordsError', { length: limits.wordLength, words: bad.slice(0, 5).join(', ').slice(0, 200) });
}

export function parseHold(
  typed: TypedHold,
  t: ScreeningWords,
): { hold: HoldRules; links: Action | 'allow'; numbers: Action | 'allow' } | { wrong: Wrong } {
  const fromMinor = typed.fromAmount === '' ? null : toMinor(typed.fromAmount);
  const choices = [...actions, 'allow'] as const;
  const links = choices.find((each) => each === typed.links);
  const numbers = choices.find((each) => each === typed.numbers);
  const wrong = defined({
    fromAmount: fromMinor === undefined ? t('amountError') : undefined,
    links: links ? undefined : t('chooseError'),
    numbers: numbers ? undefined : t('chooseError'),
  });
  if (fromMinor === undefined || !links || !numbers) return { wrong };
  return { hold: { everything: typed.everything, newNames: typed.newNames, fromMinor }, links, numbers };
}

export function* parseNames(typed: string, t: ScreeningWords): Steps<readonly string[] | { wrong: Wrong }> {
  const names = entriesOf(typed);
  const tooMany =
    names.length > limits.names ||
    (yield* isTooMuch(names)) ||
    names.some((name) => characters(name) > limits.nameLength);
  return tooMany ? { wrong: { names: t('namesError', { count: limits.names, length: limits.nameLength }) } } : names;
}

/** In satang; undefined if the text is no amount. */
export function toMinor(text: string): number | undefined {
  const minor = readMoney(text);
  return minor !== undefined && within(minor, 1, 100_000_000) ? minor : undefined;
}
