interface Amount {
  readonly done: number;
  readonly total: number;
  /** What is counted, in the plural. */
  readonly unit: string;
  /** What is being done right now. */
  readonly detail?: string;
}

const lineEveryMs = 5_000;

/** On a terminal, one line that is overwritten. Elsewhere, such as in a log file, a new line from time to time. */
export function createProgress(stream: NodeJS.WriteStream) {
  const startedAt = performance.now();
  let lastLineAt = Number.NEGATIVE_INFINITY;
  let lastTenth = -1;
  const overwrite = (text: string) => stream.write(`\r\x1b[K${text.slice(0, (stream.columns || 80) - 1)}`);
  return {
    /** Without a terminal at most one line in five seconds. */
    show(text: string): void {
      if (stream.isTTY) return void overwrite(text);
      if (performance.now() - lastLineAt < lineEveryMs) return;
      lastLineAt = performance.now();
      stream.write(`${text}\n`);
    },
    /** Without a terminal one line for each tenth. */
    bar(amount: Amount): void {
      const percent = percentOf(amount);
      const tenth = Math.floor(percent / 10);
      const text = progressText(amount, performance.now() - startedAt);
      if (stream.isTTY) overwrite(`${'█'.repeat(Math.floor(percent / 5)).padEnd(20, '░')} ${text}`);
      else if (tenth !== lastTenth) stream.write(`${text}\n`);
      lastTenth = tenth;
    },
    clear(): void {
      if (stream.isTTY) stream.write('\r\x1b[K');
    },
  };
}

const percentOf = ({ done, total }: Amount): number => Math.floor((100 * done) / Math.max(total, 1));

/** `25 % (250 of 1000 rows) tips, 500/s, 2 s left` */
export function progressText(amount: Amount, elapsedMs: number): string {
  const { done, total, unit, detail } = amount;
  const perSecond = (1000 * done) / Math.max(elapsedMs, 1);
  return [
    `${percentOf(amount)} % (${done} of ${total} ${unit})${detail ? ` ${detail}` : ''}`,
    `${Math.round(perSecond)}/s`,
    ...(done === 0 ? [] : [`${durationText((total - done) / perSecond)} left`]),
  ].join(', ');
}

/** `45 s`, `2 min 5 s`, `18 min`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  return rest === 0 || minutes >= 10 ? `${Math.round(whole / 60)} min` : `${minutes} min ${rest} s`;
}
