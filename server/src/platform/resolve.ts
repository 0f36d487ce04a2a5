import { Resolver } from 'node:dns/promises';

/** Every address of a name; rejects if it has none. */
export type Resolve = (name: string) => Promise<string[]>;

/**
 * Asks the name servers without the system's resolver, whose few threads one slow name could hold for everybody.
 * So names of /etc/hosts are not known here, except localhost (RFC 6761).
 */
export function createResolve(): Resolve {
  return async (name) => {
    if (/(^|\.)localhost\.?$/i.test(name)) return ['127.0.0.1'];
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error(`${name} does not resolve`), { code: 'ENOTFOUND' });
  };
}
