/**
 * Scripts of a shell that runs the program in its arguments, and kills it when standard input closes. That happens when
 * this process ends, even after `kill -9`.
 */
const supervise = (started: string): string => `"$@" & ${started}cat >/dev/null; kill -9 $!; wait`;

export const supervisor = supervise('');
/** Prints `pid N` first, so that the program can be sent signals. */
export const supervisorWithPid = supervise('echo "pid $!"; ');
