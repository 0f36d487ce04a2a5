import { type ApiDocument, type Operation, operationsOf } from '../openapi.ts';
import { type Call, callOf, callsOf, type Overrides } from './call.ts';
import { curl } from './curl.ts';
import { javascript } from './javascript.ts';
import { python } from './python.ts';

export { headerTitle, type Overrides } from './call.ts';

type Language = (call: Call, stream: Call | undefined) => string | undefined;

/** The languages of the samples, in the order of their tabs. */
const languages: Readonly<Record<string, Language>> = { curl, JavaScript: javascript, Python: pythonOrStream };

/** Where Python has no WebSocket, the event stream, which carries the same as the event socket. */
function pythonOrStream(call: Call, stream: Call | undefined): string | undefined {
  if (call.kind !== 'socket') return python(call);
  if (!stream || call.operationId !== 'openSocket') return undefined;
  return `# Python's standard library has no WebSocket. The event stream carries the same:\n${python(stream)}`;
}

/** One request in every language. */
export interface Sample {
  readonly operationId: string;
  /** Tells several requests of one operation apart; empty if there is one. */
  readonly title: string;
  readonly texts: readonly { readonly language: string; readonly text: string }[];
}

function sampleOf(title: string, call: Call, document: ApiDocument): Sample {
  const stream = operationsOf(document).find(({ operationId }) => operationId === 'streamEvents');
  const streamCall = stream && callOf(stream, document);
  return {
    operationId: call.operationId,
    title,
    texts: Object.entries(languages).flatMap(([language, write]) => {
      const text = write(call, streamCall);
      return text === undefined ? [] : [{ language, text }];
    }),
  };
}

export const samplesOf = (operation: Operation, document: ApiDocument): Sample[] =>
  callsOf(operation, document).map(({ title, call }) => sampleOf(title, call, document));

/** The request of a guide: an operation by its id, with values of the guide's own. */
export function guideSample(document: ApiDocument, operationId: string, overrides: Overrides): Sample {
  const operation = operationsOf(document).find((each) => each.operationId === operationId);
  if (!operation) throw new Error(`A guide shows the operation ${operationId}, which does not exist`);
  return sampleOf('', callOf(operation, document, overrides), document);
}
