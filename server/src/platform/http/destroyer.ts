interface Destroyable {
  destroy(): unknown;
}

/**
 * Destroys one in an iteration of the event loop: it takes 0.4 ms where the client's bytes are left unread, and clients
 * that were closed together are due together.
 */
export function createDestroyer(): (socket: Destroyable) => void {
  const due: Destroyable[] = [];
  function destroyNext(): void {
    due.shift()?.destroy();
    if (due.length > 0) setImmediate(destroyNext);
  }
  return (socket) => {
    if (due.push(socket) === 1) setImmediate(destroyNext);
  };
}
