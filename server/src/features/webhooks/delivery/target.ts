/** Where the deliveries of an endpoint go, and in which form: what was read with a lease, with its secrets opened. */
import type { Vault } from '../../../platform/vault.ts';
import { type Format, sealContext } from './format.ts';
import type { SendingEndpoint } from './repo.ts';
import type { Kind, Kinds } from './transport.ts';

export interface Target {
  readonly owner: string;
  readonly kind: Kind;
  readonly url: string;
  readonly format: Format;
  readonly sealed: readonly Uint8Array[];
  /** Of the lease that it was read with. */
  readonly changes: number;
}

/** Keeps the format if the secrets are the same: to open a secret costs more than to sign with it. */
export function targetOf(
  endpoint: SendingEndpoint,
  changes: number,
  now: number,
  { vault, kinds }: { readonly vault: Vault; readonly kinds: Kinds },
  known: Target | undefined,
): Target {
  const { id, owner, client_id, username, sealed_url, sealed_secret, sealed_old_secret, old_secret_until } = endpoint;
  const kind = kinds[endpoint.kind];
  if (!kind) throw new Error(`this version has no endpoints of the kind ${endpoint.kind}`);
  const secrets = [sealed_secret];
  if (sealed_old_secret && old_secret_until !== null && now < old_secret_until) secrets.push(sealed_old_secret);
  const sealed = sealed_url ? [sealed_url, ...secrets] : secrets;
  if (known && areSame(known.sealed, sealed))
    return { ...known, owner, changes, url: sealed_url ? known.url : endpoint.url };
  const open = (bytes: Uint8Array): string => vault.open(bytes, sealContext(id));
  return {
    owner,
    kind,
    url: sealed_url ? open(sealed_url) : endpoint.url,
    format: kind.format({ secrets: secrets.map(open), username, clientId: client_id }),
    sealed,
    changes,
  };
}

const areSame = (some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean =>
  some.length === others.length && some.every((bytes, index) => Buffer.compare(bytes, others[index] ?? bytes) === 0);
