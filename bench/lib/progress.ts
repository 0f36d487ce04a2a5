/** One line that is written over in a terminal; elsewhere a line now and then. */
export function createProgress(out: NodeJS.WriteStream = process.stderr) {
  let lastLine = 0;
  function show(text: string): void {
    if (out.isTTY) out.write(`\r\x1b[K${text.slice(0, (out.columns ?? 80) - 1)}`);
    else if (performance.now() - lastLine > 5_000 || lastLine === 0) {
      lastLine = performance.now();
      out.write(`${text}\n`);
    }
  }
  return {
    show,
    bar(what: string, done: number, all: number): void {
      const filled = Math.round((done / all) * 30);
      show(
        `${'█'.repeat(filled)}${'░'.repeat(30 - filled)} ${done.toLocaleString('en')} of ${all.toLocaleString('en')} ${what}`,
      );
    },
    done(): void {
      if (out.isTTY) out.write('\r\x1b[K');
    },
  };
}
