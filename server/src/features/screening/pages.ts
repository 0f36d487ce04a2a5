import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { createPauses, runWithPauses, type Steps } from '../../platform/pauses.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import { displayName } from '../../platform/web/browser/text.ts';
import { formText } from '../../platform/web/form-body.ts';
import type { Pages } from '../accounts/index.ts';
import { countChange } from './change-limit.ts';
import { isTooMuch, parseHold, parseList, parseNames, readHold, readList, readText, toMinor, tooMuch } from './form.ts';
import { limits, type RuleList, type Rules } from './rules.ts';
import type { Screening } from './service.ts';
import { starterLists } from './starter-lists.ts';
import { home, type ScreeningView, screeningView } from './views.ts';
import { type ScreeningWords, screeningWords } from './words.ts';

export interface ScreeningPagesParts {
  readonly pages: Pages;
  readonly screening: Screening;
  readonly limiter: Limiter;
}

/** To hold new names reads the names of thousands of tips. */
const newNamesCost = 5;

/** /dashboard/screening: what of a tip is shown in public. */
export function screeningPages(scope: FastifyInstance, { pages, screening, limiter }: ScreeningPagesParts): void {
  const style = pages.assets.add(new URL('./screening.css', import.meta.url));
  const words = (request: FastifyRequest) => screeningWords(pages.lang(request));

  /** Of every form that changes rules. Before the body: nobody else's are read, nor too many. */
  const counted = {
    onRequest: (request: FastifyRequest) => countChange(limiter, pages.requireSession(request).creatorId),
  };
  /** All letters that are allowed, in Thai, nine bytes each. */
  const longForm = { ...counted, bodyLimit: 512 * 1024 };

  type Shown = Pick<ScreeningView, 'typed' | 'wrong' | 'tried' | 'open'> & { readonly status?: number };

  async function show(request: FastifyRequest, reply: FastifyReply, { status = 200, ...shown }: Shown = {}) {
    const { creatorId } = pages.requireSession(request);
    // To read all words and to write a page of them takes some milliseconds.
    const pause = createPauses(creatorId);
    await pause();
    const rules = await screening.get(creatorId);
    await pause();
    const body = screeningView({ lang: pages.lang(request), csrf: pages.csrf(request, reply), rules, ...shown });
    const head = stylesheet(style());
    return pages.show(request, reply, { status, title: words(request)('title'), nav: 'screening', head, body });
  }

  async function save(request: FastifyRequest, reply: FastifyReply, change: (rules: Rules) => Rules, to = home) {
    const { creatorId } = pages.requireSession(request);
    await screening.change(creatorId, change);
    return pages.redirect(reply, to, { tone: 'ok', text: words(request)('saved') });
  }

  scope.get<{ Querystring: { list?: string } }>(home, (request, reply) =>
    show(request, reply, { open: String(request.query.list ?? '') }),
  );

  scope.post(`${home}/hold`, counted, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const hold = readHold(request);
    const parsed = parseHold(hold, words(request));
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed: { hold }, wrong: parsed.wrong });
    const { hold: before } = await screening.get(creatorId);
    if (hold.newNames && !before.newNames) await countChange(limiter, creatorId, newNamesCost - 1);
    return save(request, reply, (rules) => ({ ...rules, ...parsed }));
  });

  scope.post(`${home}/names`, longForm, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const names = formText(request, 'names');
    const parsed = await runWithPauses(creatorId, parseNames(names, words(request)));
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed: { names }, wrong: parsed.wrong });
    return save(request, reply, (rules) => ({ ...rules, blockedNames: parsed }));
  });

  scope.post<{ Params: { kind: string } }>(`${home}/lists/add/:kind`, counted, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const list = newList(request.params.kind, t);
    const { lists } = await screening.get(creatorId);
    if (hasList(lists, list.id)) return pages.redirect(reply, listAddress(list.id));
    const problem = await runWithPauses(creatorId, sizeProblem([...lists, list], t));
    if (problem) return pages.redirect(reply, home, { tone: 'warn', text: problem });
    const added = (rules: Rules) =>
      hasList(rules.lists, list.id) ? rules : { ...rules, lists: [...rules.lists, list] };
    return save(request, reply, added, listAddress(list.id));
  });

  scope.post<{ Params: { id: string } }>(`${home}/lists/:id`, longForm, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const { id } = request.params;
    const { lists } = await screening.get(creatorId);
    if (!hasList(lists, id)) return pages.redirect(reply, home, { tone: 'warn', text: t('gone') });
    const list = { ...readList(request), id };
    const parsed = await runWithPauses(creatorId, parseList(list, t));
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed: { list }, wrong: parsed.wrong });
    const replaced = (all: readonly RuleList[]) => all.map((each) => (each.id === id ? { ...parsed, id } : each));
    const problem = await runWithPauses(creatorId, sizeProblem(replaced(lists), t));
    if (problem) return show(request, reply, { status: 422, typed: { list }, wrong: { words: problem } });
    return save(request, reply, (rules) => ({ ...rules, lists: replaced(rules.lists) }), listAddress(id));
  });

  scope.post<{ Params: { id: string } }>(`${home}/lists/:id/remove`, counted, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { id } = request.params;
    await screening.change(creatorId, (rules) => ({ ...rules, lists: rules.lists.filter((list) => list.id !== id) }));
    return pages.redirect(reply, home, { tone: 'ok', text: words(request)('removed') });
  });

  scope.post(`${home}/try`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const text = readText(request);
    const amountMinor = toMinor(text.amount);
    const t = words(request);
    if (amountMinor === undefined)
      return show(request, reply, { status: 422, typed: { text }, wrong: { tryAmount: t('amountError') } });
    const name = displayName(text.name, 'SOMCHAI');
    const message = text.message === '' ? null : text.message.slice(0, 510);
    const verdict = await screening.preview(creatorId, { amountMinor, name, displayName: null, message });
    return show(request, reply, { typed: { text }, tried: { verdict, name, message } });
  });
}

const listAddress = (id: string): string => `${home}?list=${id}#list-${id}`;

const hasList = (lists: readonly RuleList[], id: string): boolean => lists.some((list) => list.id === id);

/** The id of a starter list is its kind: it can be taken over once, also after it was changed. */
function newList(kind: string, t: ScreeningWords): RuleList {
  const list = { match: 'words', action: 'mask' } as const;
  if (kind === 'english') return { id: kind, ...list, title: t('englishTitle'), ...starterLists.english };
  if (kind === 'thai') return { id: kind, ...list, title: t('thaiTitle'), ...starterLists.thai };
  return { id: randomUUID(), ...list, title: t('newTitle'), words: [], except: [] };
}

function* sizeProblem(lists: readonly RuleList[], t: ScreeningWords): Steps<string | undefined> {
  if (lists.length > limits.lists) return t('tooManyLists', { count: limits.lists });
  const entries = lists.flatMap(({ words, except }) => [...words, ...except]);
  return (yield* isTooMuch(entries)) ? tooMuch(t) : undefined;
}
