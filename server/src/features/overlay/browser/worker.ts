/**
 * Lets an overlay open that was open before, even while the server is away (OBS may start first): what cannot be
 * loaded comes from what the page kept. Once open, the page waits for the server by itself.
 */
interface LoadEvent extends Event {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

/** A proxy says so when the server behind it is away. */
const away = [502, 503, 504];

addEventListener('fetch', (event) => {
  if (!isLoad(event)) return;
  const { request } = event;
  const kept = request.mode === 'navigate' || new URL(request.url).pathname.startsWith('/assets/');
  if (kept && request.method === 'GET') event.respondWith(answer(request));
});

const isLoad = (event: Event): event is LoadEvent => 'respondWith' in event;

async function answer(request: Request): Promise<Response> {
  const loaded = await fetch(request).catch(() => undefined);
  if (loaded && !away.includes(loaded.status)) return loaded;
  return (await caches.match(request)) ?? loaded ?? Response.error();
}
