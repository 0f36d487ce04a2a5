/** The spec's scopes, in the order of its table, each in plain words. */
export const scopes = {
  'profile.read': 'Public profile and tip-channel status',
  'tips.read': 'Tip history and statistics',
  'tips.create': 'Creating tips through the API',
  'alerts.create': 'Sending test alerts to the overlay',
  'events.subscribe': 'Receiving tip events through webhooks or sockets',
} as const;

export type Scope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as Scope[];

/** Reads a space-separated list: known scopes once each in the table's order, and what is not known. */
export function parseScopes(text: string): { scopes: Scope[]; unknown: string[] } {
  const asked = new Set(text.split(' ').filter(Boolean));
  return {
    scopes: allScopes.filter((scope) => asked.has(scope)),
    unknown: [...asked].filter((name) => !allScopes.some((scope) => scope === name)),
  };
}

export const formatScopes = (list: readonly Scope[]): string => list.join(' ');

export function intersectScopes(a: readonly Scope[], b: readonly Scope[]): Scope[] {
  return a.filter((scope) => b.includes(scope));
}
