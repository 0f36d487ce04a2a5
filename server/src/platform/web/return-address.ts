/**
 * Where to go after sign-in. Anyone can put any text into a link, so only a path of our own is accepted, else
 * `fallback`. The text is parsed as a browser parses it (`\` is a slash, tabs and line breaks vanish, `/.//x` is
 * `//x`), and the result is checked again, because a path that begins with two slashes names another host.
 */
export function safeReturn(text: string | null | undefined, origin: string, fallback: string): string {
  if (!text?.startsWith('/') || !URL.canParse(text, origin)) return fallback;
  const url = new URL(text, origin);
  if (url.origin !== origin || /^\/[/\\]/.test(url.pathname)) return fallback;
  return url.pathname + url.search;
}
