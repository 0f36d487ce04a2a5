import { Agent } from 'undici';
import type { Measurements } from './measurements.ts';

/** One call of an honest program. */
export interface Call {
  /** Under this name it is measured. */
  readonly kind: string;
  readonly url: string;
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Record<string, string>;
  readonly body?: object;
  readonly expects: number;
}

export interface Answered {
  readonly json: unknown;
  readonly headers: Record<string, string | string[] | undefined>;
}

/** Undefined if it went wrong; that is noted with the measurements. */
export type HonestCall = (call: Call) => Promise<Answered | undefined>;

const timeoutMs = 30_000;

export function createCalls(measurements: Measurements): { call: HonestCall; close(): Promise<void> } {
  const agent = new Agent({ connections: 64, pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  return {
    close: () => agent.destroy(),
    async call({ kind, url, path, method = 'GET', headers = {}, body, expects }) {
      const begun = performance.now();
      try {
        const answer = await agent.request({
          origin: url,
          path,
          method,
          headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
          ...(body ? { body: JSON.stringify(body) } : {}),
        });
        const text = await answer.body.text();
        const { statusCode } = answer;
        if (statusCode === expects) {
          measurements.took(kind, performance.now() - begun);
          return { json: text === '' ? null : JSON.parse(text), headers: answer.headers };
        }
        measurements.failed(kind, `${method} ${path}: ${statusCode} ${text}`);
      } catch (error) {
        measurements.failed(kind, `${method} ${path}: ${error instanceof Error ? error.message : error}`);
      }
      return undefined;
    },
  };
}
