/** One line that is written over in a terminal; elsewhere a line now and then. */
export function createProgress(out: NodeJS.WriteStream = process.stderr) {
  const begun = performance.now();
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
    bar: (what: string, done: number, all: number) => show(barText(what, done, all, performance.now() - begun)),
    done(): void {
      if (out.isTTY) out.write('\r\x1b[K');
    },
  };
}

/** How far something is, how quickly it goes and how long it still takes. */
export function barText(what: string, done: number, all: number, elapsedMs: number): string {
  const filled = Math.floor((done / all) * 20);
  const perSecond = done / (elapsedMs / 1000);
  const left = done === 0 ? '' : `, ${duration((all - done) / perSecond)} left`;
  return (
    `${'█'.repeat(filled)}${'░'.repeat(20 - filled)} ${number(done)} of ${number(all)} ${what}, ` +
    `${number(Math.round(perSecond))}/s${left}`
  );
}

/** `45 s`, `2 min 5 s`, `18 min`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  return rest === 0 || minutes >= 10 ? `${Math.round(whole / 60)} min` : `${minutes} min ${rest} s`;
}

const number = (value: number): string => value.toLocaleString('en');
