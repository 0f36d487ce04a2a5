import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { dropBody } from '../../platform/http/errors.ts';
import type { StoredFiles } from '../../platform/http/stored-files.ts';
import { PictureError, type PictureProblem } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import { formFile } from '../../platform/web/form-body.ts';
import { uploadedPictureHeaders } from '../../platform/web/headers.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { type Pages, uploadLimit } from '../accounts/index.ts';
import type { AppRow, Logos } from '../apps/index.ts';
import { words } from './words.ts';

export interface LogoPagesParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly logos: Logos;
  readonly files: StoredFiles;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
  readonly showApp: (
    request: FastifyRequest,
    reply: FastifyReply,
    app: AppRow,
    o: { logoError: string; status: number },
  ) => unknown;
}

type AppRequest = FastifyRequest<{ Params: { clientId: string } }>;

const logoBytes = 2_000_000;

const logoWords = { kind: 'logoKind', pixels: 'logoPixels', time: 'logoTime' } as const satisfies Record<
  PictureProblem,
  string
>;

/** The logo's form, and its public address. */
export function logoPages(
  scope: FastifyInstance,
  { pages, logos, files, limiter, ownedApp, showApp }: LogoPagesParts,
): void {
  const own = (request: AppRequest) => ownedApp(pages.requireSession(request).creatorId, request.params.clientId);

  async function refuse(
    request: AppRequest,
    reply: FastifyReply,
    problem: 'logoNone' | 'logoLarge' | (typeof logoWords)[PictureProblem],
    status = 422,
  ) {
    return showApp(request, reply, await own(request), { logoError: words(pages.lang(request))(problem), status });
  }

  function done(request: AppRequest, reply: FastifyReply, text: 'logoUploaded' | 'logoRemoved') {
    const path = `/developers/apps/${request.params.clientId}`;
    return pages.redirect(reply, path, { tone: 'ok', text: words(pages.lang(request))(text) });
  }

  scope.post<{ Params: { clientId: string } }>('/developers/apps/:clientId/logo', {
    // 64 KiB for the form around the picture.
    bodyLimit: logoBytes + 64 * 1024,
    errorHandler: async (error, request, reply) => {
      if (error.statusCode !== 413) throw error;
      dropBody(request, reply);
      return refuse(request as AppRequest, reply, 'logoLarge', 413);
    },
    // Runs before the body is read, so that only the owner of the app can send megabytes.
    onRequest: async (request) => {
      const { creatorId } = pages.requireSession(request);
      await own(request);
      await limitPage(limiter, `upload:${creatorId}`, uploadLimit);
    },
    handler: async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      const file = formFile(request, 'logo');
      if (!file) return refuse(request, reply, 'logoNone');
      if (file.size > logoBytes) return refuse(request, reply, 'logoLarge');
      try {
        await logos.set(creatorId, request.params.clientId, new Uint8Array(await file.arrayBuffer()));
      } catch (error) {
        if (error instanceof PictureError) return refuse(request, reply, logoWords[error.problem]);
        throw error;
      }
      return done(request, reply, 'logoUploaded');
    },
  });

  scope.post<{ Params: { clientId: string } }>('/developers/apps/:clientId/logo/remove', async (request, reply) => {
    const { owner_id, id } = await own(request);
    if (owner_id !== null) await logos.set(owner_id, id, null);
    return done(request, reply, 'logoRemoved');
  });

  files.serve(scope, '/app-logos/:id', async (id) => {
    const logo = await logos.byId(id);
    return logo && { ...logo, headers: uploadedPictureHeaders(logo.type) };
  });
}
