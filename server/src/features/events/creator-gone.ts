import { ApiError } from '../../errors.ts';

/**
 * The answer to a request that was under way when its creator was removed. The guard has let it through, but the head of
 * the log is gone. The next request gets the same answer from the guard.
 */
export const creatorGone = (): ApiError => new ApiError('grant_unusable');
