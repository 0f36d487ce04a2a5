/**
 * The service worker: opens a known overlay while the server is away (OBS may start first) from the cache that
 * `page-cache.ts` fills. The open page then waits for the server by itself.
 */
interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** What a proxy answers when the server behind it is away. */
const awayStatuses = [502, 503, 504];

addEventListener('fetch', (event) => {
  if (!isFetchEvent(event)) return;
  const { request } = event;
  const cached = request.mode === 'navigate' || /^\/(assets|overlay-files)\//.test(new URL(request.url).pathname);
  if (cached && request.method === 'GET') event.respondWith(fetchOrCached(request));
});

const isFetchEvent = (event: Event): event is FetchEvent => 'respondWith' in event;

async function fetchOrCached(request: Request): Promise<Response> {
  const response = await fetch(request).catch(() => undefined);
  if (response && !awayStatuses.includes(response.status)) return response;
  return (await caches.match(request)) ?? response ?? Response.error();
}
