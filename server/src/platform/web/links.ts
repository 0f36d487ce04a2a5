/** The longest address that a person may give. */
export const linkLength = 2048;

/** Normalizes an `https:` address. User information is refused: text before an @ can look like the host. */
export function toLink(text: string): string | undefined {
  const url = URL.parse(text);
  const good = url?.protocol === 'https:' && url.username === '' && url.password === '';
  return good && text.length <= linkLength && url.href.length <= linkLength ? url.href : undefined;
}
