/** A token, or a function that gets one. It is called again, with the refused token, after a 401. */
export type AccessToken = string | ((refused?: string) => string | Promise<string>);

/**
 * Shares refreshes: however many calls were refused with the same token, the function is asked for a new one once. That
 * holds for a call that was refused late, too: it gets what the refresh brought. A refresh that failed is tried again.
 */
export function shareRefresh(accessToken: AccessToken): (refused?: string) => Promise<string> {
  let last: { refused: string; renewed: Promise<string> } | undefined;
  return async (refused) => {
    if (typeof accessToken === 'string') return accessToken;
    if (refused === undefined) return accessToken();
    if (last?.refused !== refused) {
      const renewed = Promise.resolve(accessToken(refused));
      const refresh = { refused, renewed };
      last = refresh;
      renewed.catch(() => {
        if (last === refresh) last = undefined;
      });
    }
    return last.renewed;
  };
}
