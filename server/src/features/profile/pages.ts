import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { dropBody } from '../../platform/http/errors.ts';
import type { StoredFiles } from '../../platform/http/stored-files.ts';
import { PictureError, type PictureProblem } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import { formFile } from '../../platform/web/form-body.ts';
import { uploadedPictureHeaders } from '../../platform/web/headers.ts';
import { type Html, joined } from '../../platform/web/html.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { QueueFull } from '../../platform/work-queue.ts';
import { type Pages, uploadLimit } from '../accounts/index.ts';
import { createDrawings } from './drawings.ts';
import { parseProfile, readTyped, type Typed, toTyped, type Wrong } from './form.ts';
import { previewTags, publicView } from './public-views.ts';
import { qrPicture } from './qr-views.ts';
import type { Profiles, PublicPage } from './service.ts';
import type { ShareCards } from './share-card.ts';
import { home, profileView } from './views.ts';
import { profileWords } from './words.ts';

export interface ProfilePagesParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly profiles: Profiles;
  readonly cards: ShareCards;
  readonly files: StoredFiles;
}

const avatarBytes = 5_000_000;
/** After a full queue, in seconds: the queue is short, and a picture takes a second or two. */
const retryHeaders = { 'retry-after': '5' };
/** QR codes that are kept in memory, of a few kilobytes each. */
const maxCodes = 500;
const pictureWords = {
  kind: 'pictureType',
  pixels: 'picturePixels',
  time: 'pictureTime',
} as const satisfies Record<PictureProblem, string>;

/** /dashboard/profile, the public page /@username, and avatars. */
export function profilePages(scope: FastifyInstance, parts: ProfilePagesParts): void {
  const { pages, profiles, cards, files, limiter } = parts;
  const style = pages.assets.add(new URL('./profile.css', import.meta.url));
  const codes = createDrawings<Html>(limiter, maxCodes);
  const head = () => stylesheet(style());
  const words = (request: FastifyRequest) => profileWords(pages.lang(request));

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, ...shown }: { status?: number; typed?: Typed; wrong?: Wrong } = {},
  ) {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const page = await profiles.page(creatorId);
    const body = profileView({
      t,
      csrf: pages.csrf(request, reply),
      profile: page.profile,
      pageAddress: addressOf(page),
      typed: toTyped(page),
      wrong: {},
      ...shown,
    });
    return pages.show(request, reply, { status, title: t('title'), nav: 'profile', head: head(), body });
  }

  const done = (request: FastifyRequest, reply: FastifyReply, what: 'saved' | 'uploaded' | 'removed') =>
    pages.redirect(reply, home, { tone: 'ok', text: words(request)(what) });

  scope.get(home, (request, reply) => show(request, reply));

  scope.post(home, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const typed = readTyped(request);
    const parsed = parseProfile(typed, words(request), pages.authUrl);
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed, wrong: parsed.wrong });
    await profiles.update(creatorId, parsed);
    return done(request, reply, 'saved');
  });

  scope.post(`${home}/avatar`, {
    // 64 KiB for the form around the picture.
    bodyLimit: avatarBytes + 64 * 1024,
    errorHandler: async (error, request, reply) => {
      if (error.statusCode !== 413) throw error;
      dropBody(request, reply);
      return show(request, reply, { status: 413, wrong: { avatar: words(request)('pictureLarge') } });
    },
    // Before the body: nobody else's five megabytes are read.
    onRequest: async (request) => {
      const { creatorId } = pages.requireSession(request);
      await limitPage(limiter, `upload:${creatorId}`, uploadLimit);
    },
    handler: async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      const refuse = (problem: 'pictureNone' | 'pictureLarge' | (typeof pictureWords)[PictureProblem]) =>
        show(request, reply, { status: 422, wrong: { avatar: words(request)(problem) } });
      const file = formFile(request, 'avatar');
      if (!file) return refuse('pictureNone');
      if (file.size > avatarBytes) return refuse('pictureLarge');
      try {
        await profiles.setAvatar(creatorId, new Uint8Array(await file.arrayBuffer()));
        return done(request, reply, 'uploaded');
      } catch (error) {
        if (error instanceof PictureError) return refuse(pictureWords[error.problem]);
        throw busy(error);
      }
    },
  });

  scope.post(`${home}/avatar/remove`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await profiles.setAvatar(creatorId, null);
    return done(request, reply, 'removed');
  });

  files.serve(scope, '/avatars/:id', async (id) => {
    const avatar = /^avt_\w{26}$/.test(id)
      ? await profiles.avatar(id).catch((error) => {
          throw busy(error);
        })
      : undefined;
    return avatar && { ...avatar, headers: uploadedPictureHeaders(avatar.type) };
  });

  const addressOf = ({ profile }: PublicPage): string => `${pages.authUrl}/@${profile.username}`;

  async function publicPage(username: string): Promise<PublicPage> {
    const page = /^\w{3,30}$/.test(username) ? await profiles.publicPage(username) : undefined;
    if (!page) throw new ApiError('not_found');
    return page;
  }

  scope.get<{ Params: { username: string } }>('/@:username', async (request, reply) => {
    const page = await publicPage(request.params.username);
    const [t, address] = [words(request), addressOf(page)];
    return pages.show(request, reply, {
      title: page.profile.display_name,
      head: joined(head(), previewTags(page, address, t)),
      body: publicView(page, address, t),
    });
  });

  scope.get<{ Params: { username: string } }>('/@:username/qr.svg', async (request, reply) => {
    const page = await publicPage(request.params.username);
    const [address, title] = [addressOf(page), words(request)('qrAlt')];
    const picture = await codes.get(`${address} ${title}`, request.ip, () => qrPicture(address, title));
    return reply.headers({ ...pictureHeaders, 'content-type': 'image/svg+xml' }).send(picture);
  });

  scope.get<{ Params: { username: string } }>('/@:username/card.png', async (request, reply) => {
    const page = await publicPage(request.params.username);
    const picture = await cards.draw(page, addressOf(page), request.ip).catch((error) => {
      throw busy(error);
    });
    return reply.headers({ ...pictureHeaders, 'content-type': 'image/png' }).send(Buffer.from(picture));
  });
}

/** Pictures that we draw. Chat apps show them on their own pages. */
const pictureHeaders = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
};

/** Too many pictures wait, or one took too long. */
const busy = (error: unknown): unknown =>
  error instanceof QueueFull || error instanceof PictureError ? new PageError(429, { headers: retryHeaders }) : error;
