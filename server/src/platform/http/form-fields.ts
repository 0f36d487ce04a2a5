/**
 * Forms, with bounds on their parts. To parse a form takes the square of the number of its fields: 46 seconds for a
 * million of them, in which nobody else is served.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { MIMEType } from 'node:util';
import { validationFailed } from './http-error.ts';

/** Far above our largest form. */
const maxFields = 200;
const maxParts = 40;
/** The names and types of all parts together. */
const maxPartHeaderBytes = 16 * 1024;
/** Of all fields that are no files, as many as a form without files may have. */
const maxTextBytes = 64 * 1024;
/** To search so many bytes takes 2 ms at most, whatever they are. */
const searchedAtOnce = 64 * 1024;

export function parseFields(text: string): URLSearchParams {
  let count = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    count += 1;
    if (count > maxFields) throw tooManyFields(maxFields);
  }
  return new URLSearchParams(text);
}

/**
 * RFC 7578. Each byte is looked at once, and of large files a part at a time: with `Response.formData()` a file that is
 * full of the boundary's characters took 125 ms.
 */
export async function parseParts(body: Buffer, contentType: string): Promise<FormData> {
  const boundary = `--${boundaryOf(contentType)}`;
  if (!isAt(body, boundary, 0)) throw malformed();
  const form = new FormData();
  const left = { parts: maxParts, headerBytes: maxPartHeaderBytes, textBytes: maxTextBytes };
  for (let at = boundary.length; !isAt(body, '--', at); ) {
    left.parts -= 1;
    if (left.parts < 0) throw tooManyFields(maxParts);
    const headerLength = body.subarray(at, at + left.headerBytes).indexOf('\r\n\r\n');
    if (headerLength < 0 || !isAt(body, '\r\n', at)) throw malformed();
    left.headerBytes -= headerLength;
    const { name, fileName, type } = readPartHeaders(body.toString('utf8', at, at + headerLength));
    const start = at + headerLength + 4;
    const end = await findWithPauses(body, `\r\n${boundary}`, start);
    const content = body.subarray(start, end);
    if (fileName === undefined) {
      left.textBytes -= content.length;
      if (left.textBytes < 0) throw tooMuchText();
      form.append(name, content.toString('utf8'));
    } else form.append(name, new File([new Uint8Array(content)], fileName, { type }));
    at = end + boundary.length + 2;
  }
  return form;
}

const isAt = (body: Buffer, text: string, at: number): boolean =>
  body.toString('latin1', at, at + text.length) === text;

/** Where the text begins in the bytes from `start` on. Others are served between two steps. */
async function findWithPauses(body: Buffer, text: string, start: number): Promise<number> {
  for (let at = start; at < body.length; at += searchedAtOnce) {
    if (at > start) await nextIteration();
    const found = body.subarray(at, at + searchedAtOnce + text.length - 1).indexOf(text, 0, 'latin1');
    if (found >= 0) return at + found;
  }
  throw malformed();
}

function readPartHeaders(text: string): { name: string; fileName: string | undefined; type: string } {
  const disposition =
    /^content-disposition: *form-data; *name="([^"\r\n]*)"(?:; *filename="([^"\r\n]*)")?[; ]*\r?$/im.exec(text);
  if (!disposition) throw malformed();
  const [, name = '', fileName] = disposition;
  const type = /^content-type: *([^\r\n]*)/im.exec(text)?.[1] ?? 'text/plain';
  return { name: unescaped(name), fileName: fileName === undefined ? undefined : unescaped(fileName), type };
}

/** As browsers escape them (WHATWG HTML, "multipart/form-data encoding algorithm"). */
const unescaped = (text: string): string => text.replace(/%0A/gi, '\n').replace(/%0D/gi, '\r').replace(/%22/g, '"');

function boundaryOf(contentType: string): string {
  try {
    const boundary = new MIMEType(contentType).params.get('boundary');
    if (boundary && /^[ -~]{1,70}$/.test(boundary)) return boundary;
  } catch {
    // Not a media type.
  }
  throw malformed();
}

const malformed = () => validationFailed({ field: null, message: 'must be a well-formed form' });
const tooMuchText = () =>
  validationFailed({ field: null, message: `must have at most ${maxTextBytes} bytes beside its files` });
const tooManyFields = (most: number) => validationFailed({ field: null, message: `must have at most ${most} fields` });
