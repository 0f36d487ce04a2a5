/** What a run has opened, closed in reverse order: also after a failure or a signal. */
export interface Scope {
  after(end: () => unknown): void;
  end(): Promise<void>;
}

export function createScope(): Scope {
  const endings: (() => unknown)[] = [];
  return {
    after: (end) => void endings.push(end),
    async end() {
      for (let end = endings.pop(); end; end = endings.pop()) await end();
    },
  };
}
