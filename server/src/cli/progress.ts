/** How far something long has come: a bar on a terminal, a line for every tenth elsewhere. */
export function createProgress(stream: NodeJS.WriteStream): (done: number, total: number, what: string) => void {
  let shown = -1;
  return (done, total, what) => {
    const percent = Math.floor((100 * done) / Math.max(total, 1));
    const due = stream.isTTY ? percent !== shown : Math.floor(percent / 10) !== Math.floor(shown / 10);
    if (!due) return;
    shown = percent;
    const counts = `${percent} % (${done} of ${total} rows)`;
    if (!stream.isTTY) return void stream.write(`${counts} ${what}\n`);
    const bar = '█'.repeat(Math.floor(percent / 4)).padEnd(25, '░');
    stream.write(`\r\x1b[K${bar} ${counts} ${what}${percent === 100 ? '\n' : ''}`);
  };
}
