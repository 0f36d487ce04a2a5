import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { readOn } from '../../platform/http/errors.ts';
import { formFile } from '../../platform/web/form-body.ts';
import { html } from '../../platform/web/html.ts';
import type { Pages } from '../accounts/index.ts';
import { avatarBytes, avatarHeaders, avatarType } from './avatar-file.ts';
import { parseProfile, readTyped, type Typed, toTyped, type Wrong } from './form.ts';
import type { Profiles } from './service.ts';
import { home, profileView, publicView } from './views.ts';
import { profileWords } from './words.ts';

/** /dashboard/profile, the public page /@username, and avatars. */
export function profilePages(scope: FastifyInstance, { pages, profiles }: { pages: Pages; profiles: Profiles }): void {
  const style = pages.assets.add(new URL('./profile.css', import.meta.url));
  const head = () => html`<link rel="stylesheet" href="${style()}">`;
  const words = (request: FastifyRequest) => profileWords(pages.lang(request));

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, ...shown }: { status?: number; typed?: Typed; wrong?: Wrong } = {},
  ) {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const profile = await profiles.profile(creatorId);
    const body = profileView({
      t,
      csrf: pages.csrf(request, reply),
      profile,
      pageAddress: `${pages.authUrl}/@${profile.username}`,
      typed: toTyped(profile),
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
    const parsed = parseProfile(typed, words(request));
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed, wrong: parsed.wrong });
    await profiles.update(creatorId, parsed);
    return done(request, reply, 'saved');
  });

  scope.post(`${home}/avatar`, {
    // 64 KiB for the form around the picture.
    bodyLimit: avatarBytes + 64 * 1024,
    errorHandler: async (error, request, reply) => {
      if (error.statusCode !== 413) throw error;
      readOn(request, reply);
      return show(request, reply, { status: 413, wrong: { avatar: words(request)('pictureLarge') } });
    },
    handler: async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      const file = formFile(request, 'avatar');
      const bytes = new Uint8Array((await file?.arrayBuffer()) ?? []);
      const type = avatarType(bytes);
      if (type && bytes.length <= avatarBytes) {
        await profiles.setAvatar(creatorId, { type, bytes });
        return done(request, reply, 'uploaded');
      }
      const problem = !file ? 'pictureNone' : type ? 'pictureLarge' : 'pictureType';
      return show(request, reply, { status: 422, wrong: { avatar: words(request)(problem) } });
    },
  });

  scope.post(`${home}/avatar/remove`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await profiles.setAvatar(creatorId, null);
    return done(request, reply, 'removed');
  });

  scope.get<{ Params: { id: string } }>('/avatars/:id', async (request, reply) => {
    const { id } = request.params;
    const avatar = /^avt_\w{26}$/.test(id) ? await profiles.avatar(id) : undefined;
    if (!avatar) throw new ApiError('not_found');
    return reply.headers(avatarHeaders(avatar.type)).send(Buffer.from(avatar.bytes));
  });

  scope.get<{ Params: { username: string } }>('/@:username', async (request, reply) => {
    const { username } = request.params;
    const profile = /^\w{3,30}$/.test(username) ? await profiles.publicProfile(username) : undefined;
    if (!profile) throw new ApiError('not_found');
    const body = publicView(profile, words(request));
    return pages.show(request, reply, { title: profile.display_name, head: head(), body });
  });
}
