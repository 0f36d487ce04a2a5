import buildSerializer from 'fast-json-stringify';
import type { FastifySerializerCompiler } from 'fastify';

type Serialize = (data: unknown) => string;

const compiled = new WeakMap<object, Serialize>();

/**
 * A schema is compiled when it is first used, and once for all routes that answer by it: compiling all of them would
 * take a tenth of the server's start.
 */
export const compileSerializer: FastifySerializerCompiler<object> = ({ schema }) => {
  let serialize: Serialize | undefined;
  return (data) => {
    serialize ??= serializerOf(schema);
    return serialize(data);
  };
};

function serializerOf(schema: object): Serialize {
  const known = compiled.get(schema) ?? buildSerializer(schema);
  compiled.set(schema, known);
  return known;
}
