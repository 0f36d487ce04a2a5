import type { FastifyInstance } from 'fastify';

/** The methods of every route, by path. */
export function routesOf({ http }: { readonly http: FastifyInstance }): Map<string, string[]> {
  const routes = new Map<string, string[]>();
  const parents: string[] = [];
  for (const line of http.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent, name, methods] = /^([│ ├└─]*)(\S+) \(([^)]+)\)/.exec(line) ?? [];
    if (indent === undefined || name === undefined || methods === undefined) continue;
    const depth = indent.length / 4;
    parents.length = depth;
    parents[depth] = name;
    routes.set(parents.join('').replace(/(?<=.)\/\//, '/'), methods.split(', '));
  }
  return routes;
}
