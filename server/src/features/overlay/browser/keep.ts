/** Keeps this page and what it is made of, for `worker.ts` to open it with while the server is away. */
export async function keepPage(creatorId: string): Promise<void> {
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register('/overlay/worker.js');
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  const assets = loaded.filter((url) => url.startsWith(`${location.origin}/assets/`));
  const name = `overlay:${creatorId}`;
  const cache = await caches.open(name);
  const wanted = [location.href, ...assets];
  for (const { url } of await cache.keys()) if (!wanted.includes(url)) await cache.delete(url);
  await cache.addAll(wanted);
}
