/**
 * Forms, with bounds on their parts. To parse a form takes the square of the number of its fields: 46 seconds for a
 * million of them, in which nobody else is served.
 */
import { MIMEType } from 'node:util';
import { validationFailed } from './http-error.ts';

/** Far above our largest form. */
const maxFields = 200;
const maxParts = 40;
/** The names and types of all parts together. */
const maxPartHeaderBytes = 16 * 1024;

export function parseFields(text: string): URLSearchParams {
  let count = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    count += 1;
    if (count > maxFields) throw tooManyFields(maxFields);
  }
  return new URLSearchParams(text);
}

export async function parseParts(body: Buffer, contentType: string): Promise<FormData> {
  checkParts(body, contentType);
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw malformed();
  }
}

/** RFC 7578: each part begins with the boundary and its headers, which an empty line ends. */
function checkParts(body: Buffer, contentType: string): void {
  const delimiter = `--${boundaryOf(contentType)}`;
  let [count, headerBytes] = [0, 0];
  for (let at = body.indexOf(delimiter); at >= 0; ) {
    const end = body.indexOf('\r\n\r\n', at);
    const next = body.indexOf(delimiter, at + delimiter.length);
    count += 1;
    headerBytes += Math.min(...[end, next, body.length].filter((each) => each >= 0)) - at;
    if (count > maxParts || headerBytes > maxPartHeaderBytes) throw tooManyFields(maxParts);
    at = next;
  }
}

function boundaryOf(contentType: string): string {
  try {
    const boundary = new MIMEType(contentType).params.get('boundary');
    if (boundary) return boundary;
  } catch {
    // Not a media type.
  }
  throw malformed();
}

const malformed = () => validationFailed({ field: null, message: 'must be a well-formed form' });
const tooManyFields = (most: number) => validationFailed({ field: null, message: `must have at most ${most} fields` });
