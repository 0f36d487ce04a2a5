import type { Answer, Outgoing } from '../../../platform/safe-fetch.ts';
import type { Format } from './format.ts';
import type { EndpointKind } from './repo.ts';

/** Sends a request and never rejects. `SafeFetch` is the transport over HTTP. */
interface Transport {
  post(request: Outgoing): Promise<Answer>;
}

/** The format and the transport of each kind of endpoint. */
export type Kinds = Readonly<Record<EndpointKind, { readonly format: Format; readonly transport: Transport }>>;
