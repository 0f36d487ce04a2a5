// Loads the page anew when what it tells has changed. Without scripts the page does so every 15 seconds.
const { watch, state } = document.body.dataset;

async function look() {
  const response = await fetch(watch).catch(() => undefined);
  if (!response?.ok) return;
  const typing = document.activeElement?.matches('input, textarea');
  // Redirected: the session has ended.
  const now = response.redirected ? 'ended' : (await response.json()).state;
  if (now !== state && !typing) location.reload();
}

setInterval(() => document.visibilityState === 'visible' && look(), 2000);
document.addEventListener('visibilitychange', look);
