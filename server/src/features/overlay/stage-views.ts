import { type Assets, readBrowserModule } from '../../platform/web/assets.ts';
import { contentSecurityPolicy } from '../../platform/web/headers.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import { overlayTreatments } from '../events/index.ts';

const policy = contentSecurityPolicy({ 'media-src': ["'self'"] });
/** Our own pages may frame the preview. They hand it files that are chosen but not uploaded yet. */
const framedPolicy = contentSecurityPolicy({
  'frame-ancestors': ["'self'"],
  'media-src': ["'self'", 'blob:'],
  'img-src': ['blob:'],
});

/** Headers of a page with nothing but a transparent stage. With `framed`, it is the preview. */
export const stageHeaders = ({ framed = false } = {}) => ({
  'content-security-policy': framed ? framedPolicy : policy,
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
});

export function createStage(assets: Assets) {
  const own = (path: string) => assets.add(new URL(path, import.meta.url));
  const fonts = own('../../platform/web/fonts.css');
  const style = own('./overlay.css');
  const overlay = own('./browser/overlay.ts');
  const preview = own('./browser/preview.ts');
  const treatments = JSON.stringify(Object.fromEntries(overlayTreatments));
  let worker: string | undefined;

  const stage = (module: string, data: Record<string, string>): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="robots" content="noindex">
<title>Namjai overlay</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${fonts()}">
<link rel="stylesheet" href="${style()}">
<script type="module" src="${module}"></script>
</head>
<body!${attributes(data)}></body>
</html>
`;

  return {
    /** The overlay's service worker. It has a path of its own, because the path limits what it controls. */
    worker(): string {
      worker ??= readBrowserModule(new URL('./browser/worker.ts', import.meta.url));
      return worker;
    },
    /** The page that OBS opens. */
    overlay: (creatorId: string): Html =>
      stage(overlay(), { 'data-creator': creatorId, 'data-treatments': treatments }),
    /** Shows what the page around it sends, without a connection. */
    preview: (): Html => stage(preview(), {}),
  };
}
