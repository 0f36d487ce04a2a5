import type { Answer, Outgoing } from '../../../platform/safe-fetch.ts';
import type { Format } from './format.ts';
import type { EndpointKind } from './repo.ts';

/** How a request gets to its receiver. `SafeFetch` is the transport over HTTP. Never rejects. */
interface Transport {
  post(request: Outgoing): Promise<Answer>;
}

/** What is sent to the endpoints of a kind, and how. */
export type Kinds = Readonly<Record<EndpointKind, { readonly format: Format; readonly transport: Transport }>>;
