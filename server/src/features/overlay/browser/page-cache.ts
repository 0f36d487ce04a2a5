/** Caches this page and its assets, so that `worker.ts` can open the page while the server is away. */
export async function cachePage(creatorId: string): Promise<void> {
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register('/overlay/worker.js');
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  const assets = loaded.filter((url) => url.startsWith(`${location.origin}/assets/`));
  const cache = await caches.open(`overlay:${creatorId}`);
  const wanted = [location.href, ...assets];
  for (const { url } of await cache.keys()) if (!wanted.includes(url)) await cache.delete(url);
  await cache.addAll(wanted);
}
