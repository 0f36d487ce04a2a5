import type { Procedure, Tx } from './database.ts';

/** `export const record = procedure(import.meta.url, 'record', async (tx, input: NewTip) => …)` */
export const procedure = <Input, Output>(
  module: string,
  name: string,
  run: (tx: Tx, input: Input) => Promise<Output>,
): Procedure<Input, Output> => ({ module, name, run });
