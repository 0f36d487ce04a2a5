/** Asset addresses seen so far. The browser's own list of them is short, so it is emptied each time. */
const assets = new Set<string>();

/**
 * Caches this page under a name, with its assets and these files, so that `worker.ts` can open the page while the server
 * is away. What is no longer needed is removed from the cache.
 */
export async function cachePage(page: string, files: readonly string[] = []): Promise<void> {
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register('/overlay/worker.js');
  for (const { name } of performance.getEntriesByType('resource'))
    if (name.startsWith(`${location.origin}/assets/`)) assets.add(name);
  performance.clearResourceTimings();
  const cache = await caches.open(`overlay:${page}`);
  const wanted = [location.href, ...assets, ...files.map((path) => new URL(path, location.href).href)];
  const kept = new Set<string>();
  for (const { url } of await cache.keys())
    if (wanted.includes(url)) kept.add(url);
    else await cache.delete(url);
  // The page itself may have changed; everything else has an address of its own for each version.
  await cache.addAll(wanted.filter((url) => url === location.href || !kept.has(url)));
}
