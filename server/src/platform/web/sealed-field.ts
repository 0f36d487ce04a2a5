import { SealBroken, type Vault } from '../vault.ts';

/** A value for a hidden field of a form. Nobody can read or change it, and it counts in this context only. */
export const sealField = (vault: Vault, context: string, value: unknown): string =>
  Buffer.from(vault.seal(JSON.stringify(value), context)).toString('base64url');

/** Returns nothing for a forged field, or for one of another context. */
export function openField<Value>(vault: Vault, context: string, field: string): Value | undefined {
  try {
    return JSON.parse(vault.open(Buffer.from(field, 'base64url'), context));
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}
