import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { dropBody } from '../../../platform/http/errors.ts';
import { queryOf } from '../../../platform/http/query.ts';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import { PictureError, type PictureProblem } from '../../../platform/pictures.ts';
import { stylesheet } from '../../../platform/web/blocks.ts';
import { formFile, formText } from '../../../platform/web/form-body.ts';
import { contentSecurityPolicy } from '../../../platform/web/headers.ts';
import { PageError } from '../../../platform/web/page-error.ts';
import { limitPage } from '../../../platform/web/page-limit.ts';
import { QueueFull } from '../../../platform/work-queue.ts';
import { type Pages, uploadLimit } from '../../accounts/index.ts';
import type { Overlays } from '../service.ts';
import { readAmount } from '../settings-form.ts';
import { parseVariation, readTyped, type Typed, toTyped, type Wrong } from './form.ts';
import {
  pictureBytes,
  readyMadeNames,
  soundBytes,
  type Variations,
  withAdded,
  withChanged,
  withLook,
  withRemoved,
} from './rules.ts';
import { type Upload, UploadError } from './service.ts';
import { editAddress, home, looksView } from './views.ts';
import { looksWords } from './words.ts';

export interface LooksPagesParts {
  readonly pages: Pages;
  readonly overlays: Overlays;
  readonly limiter: Limiter;
}

const formBytes = 64 * 1024;
/** After a full queue, in seconds: the queue is short, and a picture takes a second or two. */
const retryAfter = { 'retry-after': '5' };

/** /dashboard/overlay/looks: the variations of alerts, as a draft and published. */
export function looksPages(scope: FastifyInstance, { pages, overlays, limiter }: LooksPagesParts): void {
  const { looks } = overlays;
  const own = (path: string) => pages.assets.add(new URL(path, import.meta.url));
  const style = own('../looks.css');
  const script = own('../browser/editor.ts');
  const words = (request: FastifyRequest) => looksWords(pages.lang(request));

  interface Shown {
    readonly status?: number;
    readonly fromMinor?: number;
    readonly typed?: Typed;
    readonly wrong?: Wrong;
  }

  async function show(request: FastifyRequest, reply: FastifyReply, { status = 200, ...shown }: Shown = {}) {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const [current, { settings }] = await Promise.all([looks.get(creatorId), overlays.get(creatorId)]);
    const edited = find(current.draft, shown.fromMinor ?? fromOf(queryOf(request).get('from')));
    const body = looksView({
      t,
      csrf: pages.csrf(request, reply),
      looks: current,
      settings,
      edited,
      typed: shown.typed ?? toTyped(edited),
      wrong: shown.wrong ?? {},
    });
    reply.header('content-security-policy', contentSecurityPolicy({ 'frame-src': ["'self'"] }));
    return pages.show(request, reply, {
      status,
      title: t('title'),
      nav: 'overlay',
      width: 'wide',
      head: stylesheet(style()),
      modules: [script()],
      body,
    });
  }

  type Done = 'saved' | 'added' | 'removed' | 'readyDone' | 'published' | 'discarded' | 'restored' | 'nothing';
  const done = (request: FastifyRequest, reply: FastifyReply, what: Done, address = home) =>
    pages.redirect(reply, address, { tone: what === 'nothing' ? 'warn' : 'ok', text: words(request)(what) });

  scope.get(home, (request, reply) => show(request, reply));

  for (const [path, what] of [
    ['publish', 'published'],
    ['discard', 'discarded'],
    ['restore', 'restored'],
  ] as const)
    scope.post(`${home}/${path}`, async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      return done(request, reply, (await looks[path](creatorId)) ? what : 'nothing');
    });

  scope.post(`${home}/add`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const fromMinor = readAmount(formText(request, 'amount')) ?? 0;
    const added = fromMinor > 0 && (await looks.edit(creatorId, (draft) => withAdded(draft, fromMinor)));
    if (!added) return pages.redirect(reply, home, { tone: 'warn', text: words(request)('addError') });
    return done(request, reply, 'added', editAddress({ fromMinor }));
  });

  scope.post<{ Params: { from: string } }>(`${home}/:from/remove`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await looks.edit(creatorId, (draft) => withRemoved(draft, fromOf(request.params.from)));
    return done(request, reply, 'removed');
  });

  scope.post<{ Params: { name: string } }>(`${home}/ready/:name`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const name = readyMadeNames.find((each) => each === request.params.name);
    if (!name) throw new PageError(404);
    await looks.edit(creatorId, (draft) => withLook(draft, name));
    return done(request, reply, 'readyDone');
  });

  scope.post<{ Params: { from: string } }>(`${home}/:from`, {
    bodyLimit: pictureBytes + soundBytes + formBytes,
    errorHandler: async (error, request, reply) => {
      if (error.statusCode !== 413) throw error;
      dropBody(request, reply);
      return show(request, reply, { status: 413, wrong: { picture_file: words(request)('tooLarge') } });
    },
    // Before the body: nobody else's megabytes are read.
    onRequest: async (request) => {
      const { creatorId } = pages.requireSession(request);
      if (Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= formBytes) return;
      await limitPage(limiter, `upload:${creatorId}`, uploadLimit);
    },
    handler: async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      const t = words(request);
      const fromMinor = fromOf(request.params.from);
      const typed = readTyped(request);
      const refuse = (wrong: Wrong) => show(request, reply, { status: 422, fromMinor, typed, wrong });
      const before = (await looks.get(creatorId)).draft.find((each) => each.fromMinor === fromMinor);
      // Another page has removed it or changed its amount: no other look takes what was meant for it.
      if (!before) return pages.redirect(reply, home, { tone: 'warn', text: t('gone') });
      const [picture, sound] = [formFile(request, 'picture_file'), formFile(request, 'sound_file')];
      const uploaded = { picture: picture !== undefined, sound: sound !== undefined };
      const parsed = parseVariation(typed, before, uploaded, t);
      if ('wrong' in parsed) return refuse(parsed.wrong);
      if (picture && picture.size > pictureBytes) return refuse({ picture_file: t('pictureLarge') });
      if (sound && sound.size > soundBytes) return refuse({ sound_file: t('soundLarge') });
      try {
        const newPicture = picture && (await looks.upload(creatorId, await toUpload('picture', picture)));
        const newSound = sound && (await looks.upload(creatorId, await toUpload('sound', sound)));
        const changed = {
          ...parsed,
          picture: newPicture?.id ?? parsed.picture,
          sound: newSound?.id ?? parsed.sound,
        };
        const added = [newPicture, newSound].filter((file) => file !== undefined);
        const saved = await looks.edit(creatorId, (draft) => withChanged(draft, before.fromMinor, changed), added);
        if (!saved) return refuse({ from: t('fromTaken') });
        return done(request, reply, 'saved', editAddress(changed));
      } catch (error) {
        if (error instanceof PictureError) return refuse({ picture_file: t(pictureWords[error.problem]) });
        if (error instanceof UploadError)
          return refuse(
            error.problem === 'sound_kind'
              ? { sound_file: t('soundKind') }
              : { picture_file: t(error.problem === 'too_many' ? 'tooMany' : 'pictureGrown') },
          );
        throw error instanceof QueueFull ? new PageError(429, { headers: retryAfter }) : error;
      }
    },
  });
}

const pictureWords = {
  kind: 'pictureKind',
  pixels: 'picturePixels',
  time: 'pictureTime',
} as const satisfies Record<PictureProblem, string>;

const toUpload = async (kind: Upload['kind'], file: File): Promise<Upload> => ({
  kind,
  bytes: new Uint8Array(await file.arrayBuffer()),
});

/** 0 for an invalid text: the first variation is from 0. */
const fromOf = (text: string | null): number => (text !== null && /^\d{1,11}$/.test(text) ? Number(text) : 0);

/** The variation from this amount, or else the first. */
function find(draft: Variations, fromMinor: number): Variations[number] {
  const found = draft.find((each) => each.fromMinor === fromMinor) ?? draft[0];
  if (!found) throw new Error('a draft has at least one variation');
  return found;
}
