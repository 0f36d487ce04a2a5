/** What a receiver's answer means for the delivery and for its endpoint. */
import type { Answer } from '../../../platform/safe-fetch.ts';

export interface Verdict {
  /**
   * `failed`: the next attempt follows by the schedule. `gone`: the receiver wants nothing more, and its endpoint is
   * disabled. `paused`: the receiver asks us to wait, which is no failed attempt: nothing is sent to it for `pauseMs`.
   */
  readonly outcome: 'succeeded' | 'failed' | 'gone' | 'paused';
  readonly pauseMs: number;
}

export type Judge = (answer: Answer) => Verdict;

/** Any 2xx status, even if reading the body failed. */
const isSuccess = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;

export const verdict = (outcome: 'succeeded' | 'failed' | 'gone'): Verdict => ({ outcome, pauseMs: 0 });

export const pause = (ms: number): Verdict => ({ outcome: 'paused', pauseMs: ms });

/** The rules of webhooks. */
export const usualJudge: Judge = (answer) =>
  verdict(isSuccess(answer) ? 'succeeded' : answer.status === 410 ? 'gone' : 'failed');
