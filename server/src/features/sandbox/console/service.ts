import { type ErrorDetail, HttpError } from '../../../platform/http/http-error.ts';
import { parseJson } from '../../../platform/http/json-body.ts';
import type { SandboxEventType } from '../../events/index.ts';
import type { OwnedSandbox } from '../service.ts';
import { type ActionParts, createActions, type Outcome } from './actions.ts';
import { createReport, type ReportParts } from './report.ts';

export type ConsoleParts = ActionParts & ReportParts;

export type Console = ReturnType<typeof createConsole>;

/** `wrong`: the rules that the request breaks, in the words of the API. */
export type Sent =
  | { readonly type: SandboxEventType; readonly outcome: Outcome }
  | { readonly wrong: readonly ErrorDetail[] };

/** What one developer sends from all consoles. Tips, alerts and voids are counted for each creator besides. */
const sendLimit = { limit: 60, windowMs: 60_000 };

/** The console of a sandbox creator: takes the request of an event, checks it and causes the event. */
export function createConsole(parts: ConsoleParts) {
  const actions = createActions(parts);
  const types = Object.keys(actions) as SandboxEventType[];

  async function send(creator: OwnedSandbox, request: unknown): Promise<Sent> {
    if (request === null || typeof request !== 'object' || Array.isArray(request))
      return { wrong: [{ field: null, message: 'must be an object' }] };
    const { type: asked, ...fields }: Record<string, unknown> = { ...request };
    const type = types.find((each) => each === asked);
    if (type === undefined) return { wrong: [{ field: 'type', message: `must be one of ${types.join(', ')}` }] };
    const { fields: known, run } = actions[type];
    // The API ignores unknown fields. Here one is a mistake that nobody would notice.
    const unknown = Object.keys(fields).filter((field) => !known.includes(field));
    if (unknown.length > 0) {
      const message = `is not a field of ${type}, which has: ${known.join(', ')}`;
      return { wrong: unknown.map((field) => ({ field, message })) };
    }
    if (!(await parts.limiter.take(`sandbox-console:${creator.developerId}`, sendLimit)).allowed)
      return { type, outcome: 'too_fast' };
    const outcome = await run(creator, fields);
    return typeof outcome === 'string' ? { type, outcome } : { wrong: outcome };
  }

  return {
    send,

    async sendJson(creator: OwnedSandbox, text: string): Promise<Sent> {
      let request: unknown;
      try {
        request = parseJson(Buffer.from(text));
      } catch (error) {
        if (error instanceof HttpError && error.details) return { wrong: error.details };
        throw error;
      }
      return send(creator, request);
    },

    report: createReport(parts),
  };
}
