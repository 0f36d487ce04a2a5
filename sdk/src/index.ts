export { type Client, createClient, type TipList } from './client.ts';
export { type ErrorDetail, NamjaiError, ReauthorizationRequired } from './error.ts';
export type { RequestOptions as ClientOptions } from './request.ts';
export type * from './types.ts';
