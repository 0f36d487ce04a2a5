/** The overlay's page: says live whether an overlay is open, and tests the voice of this browser. */
import { speak, spokenLanguages } from './voice.ts';

const refreshMs = 3000;

const now = document.querySelector<HTMLElement>('[data-now]');

/** Only the server writes text and times, so the card is fetched as it is. */
async function refresh(): Promise<void> {
  if (!now || document.visibilityState !== 'visible' || now.contains(document.activeElement)) return;
  const response = await fetch('/dashboard/overlay/now', { headers: { accept: 'text/html' } });
  if (response.redirected) return location.reload(); // the session has ended
  if (!response.ok) return;
  const { body } = new DOMParser().parseFromString(await response.text(), 'text/html');
  if (body.textContent !== now.textContent) now.replaceChildren(...body.childNodes);
}

setInterval(() => refresh().catch(() => {}), refreshMs);
document.addEventListener('visibilitychange', () => refresh().catch(() => {}));

function names(languages: readonly string[]): string {
  const display = new Intl.DisplayNames(document.documentElement.lang, { type: 'language' });
  return languages.map((code) => display.of(code) ?? code).join(', ');
}

const test = document.querySelector<HTMLButtonElement>('#voice-test');
const result = document.querySelector<HTMLElement>('#voice-result');

if (test && result) {
  test.hidden = false;
  test.addEventListener('click', () => {
    const languages = spokenLanguages();
    const { words = '', speaks = '', silent = '' } = test.dataset;
    result.textContent = languages.length === 0 ? silent : speaks.replace('{languages}', names(languages));
    const language = ['th', 'en'].find((each) => languages.includes(each)) ?? languages[0];
    if (language !== undefined) speak({ text: words, language }, 100);
  });
}
