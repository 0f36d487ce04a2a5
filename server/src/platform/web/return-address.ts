/**
 * Where to go after signing in, made from text that anyone could have put into a link: a path of ours, or `fallback`.
 * The text is read as a browser reads it (`\` is a slash, tabs and line breaks vanish, `/.//x` is `//x`), and what
 * comes out is looked at again, because a path that begins with two slashes is another host.
 */
export function safeReturn(text: string | null | undefined, origin: string, fallback: string): string {
  if (!text?.startsWith('/') || !URL.canParse(text, origin)) return fallback;
  const url = new URL(text, origin);
  if (url.origin !== origin || /^\/[/\\]/.test(url.pathname)) return fallback;
  return url.pathname + url.search;
}
