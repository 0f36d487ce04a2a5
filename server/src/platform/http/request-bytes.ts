/** Where requests end in the bytes that a client sends. */

/** The end of a request's head. A body may contain it too. */
export const endOfHead = '\r\n\r\n';
/** What follows a head in the same bytes is parsed with it, unless it is longer: it may be many chunks. */
const maxAfterHead = 1024;
/** A chunk of a body has two lines or more: its length and its bytes. */
const maxLines = 96;

/** Where the first head after the body ends, and up to where it is parsed. */
export function nextHeadEnd(chunk: Buffer, bodyEnd: number): { headEnd: number; end: number } {
  const found = chunk.indexOf(endOfHead, bodyEnd);
  const headEnd = found < 0 ? chunk.length : found + endOfHead.length;
  const isLast = found < 0 || chunk.indexOf(endOfHead, headEnd) < 0;
  const isShort = isLast && chunk.length - headEnd <= maxAfterHead;
  return { headEnd, end: isShort ? chunk.length : endOfLineBreaks(chunk, headEnd) };
}

export const isLineBreak = (byte: number | undefined): boolean => byte === 0x0d || byte === 0x0a;

/** How many bytes of line breaks stand before `end`, at most as many as end a head. */
export function lineBreaksBefore(chunk: Buffer, start: number, end: number, before: number): number {
  let first = end;
  while (first > start && end - first < endOfHead.length && isLineBreak(chunk[first - 1])) first -= 1;
  return Math.min(endOfHead.length, end - first + (first === start ? before : 0));
}

export function endOfLines(chunk: Buffer): number {
  let end = 0;
  for (let lines = 0; lines < maxLines && end < chunk.length; end += 1) if (chunk[end] === 0x0a) lines += 1;
  return end;
}

/** Line breaks before a request mean nothing: many of them are one slice. */
function endOfLineBreaks(chunk: Buffer, from: number): number {
  let end = from;
  while (isLineBreak(chunk[end])) end += 1;
  return end;
}
