import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { formText } from '../../platform/web/form-body.ts';
import type { Pages } from '../accounts/index.ts';
import { isLabel, readAmount } from './form.ts';
import { type KeysView, keysPath } from './key-views.ts';
import { keyWords } from './key-words.ts';
import { maxLabel } from './service.ts';
import { maxStreamKeys, StreamKeyExists, type StreamKeys } from './stream-keys/service.ts';
import { home } from './view.ts';

export interface KeyPagesParts {
  readonly pages: Pages;
  readonly streamKeys: StreamKeys;
  readonly baseUrl: string;
  readonly showList: (
    request: FastifyRequest,
    reply: FastifyReply,
    keys?: Partial<KeysView>,
    status?: number,
  ) => Promise<unknown>;
}

/** Making and revoking stream keys. A key is shown by the answer that made it, and never again. */
export function keyPages(scope: FastifyInstance, { pages, streamKeys, baseUrl, showList }: KeyPagesParts): void {
  const words = (request: FastifyRequest) => keyWords(pages.lang(request));
  const list = `${home}#stream-keys`;

  // The answer that shows a new key has this address. To load it again leads to the list.
  scope.get(keysPath, (_request, reply) => pages.redirect(reply, list));

  scope.post(keysPath, async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const t = words(request);
    const typed = { name: formText(request, 'name').trim(), minimum: formText(request, 'minimum').trim() };
    const minimumMinor = readAmount(typed.minimum);
    const wrong = {
      ...(typed.name !== '' && isLabel(typed.name) ? {} : { name: t('nameWrong', { most: maxLabel }) }),
      ...(minimumMinor === undefined ? { minimum: t('minimumWrong') } : {}),
    };
    if (Object.keys(wrong).length > 0 || minimumMinor === undefined)
      return showList(request, reply, { typed, wrong }, 422);
    try {
      const id = pages.formKeys.idOf(request, 'key');
      const key = await streamKeys.make(creatorId, { label: typed.name, minimumMinor }, id);
      if (key === undefined)
        return showList(request, reply, { typed, wrong: { name: t('tooMany', { most: maxStreamKeys }) } }, 422);
      return showList(request, reply, { fresh: { key, address: `${baseUrl}?token=${key}` } }, 201);
    } catch (error) {
      if (!(error instanceof StreamKeyExists)) throw error;
      return pages.redirect(reply, list, { tone: 'warn', text: t('exists') });
    }
  });

  scope.post<{ Params: { id: string } }>(`${keysPath}/:id/revoke`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await streamKeys.revoke(creatorId, request.params.id);
    return pages.redirect(reply, list, { tone: 'ok', text: words(request)('revoked') });
  });
}
