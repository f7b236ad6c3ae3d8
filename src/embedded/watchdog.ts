import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { PROGRAM_ENV } from './runProgram.js';

/**
 * Waits until its standard input closes, which happens however our process ends, and then stops the server: at first as we
 * would, after ten seconds forcibly. It gives up after fifteen, because a dead process that is never reaped, as in a
 * container without an init, looks alive forever. The first argument is the server's pid, the others are folders to delete
 * afterwards.
 */
const SCRIPT = `
read -r _
pid=$1; shift
kill -INT "$pid" 2>/dev/null
tenths=0
while kill -0 "$pid" 2>/dev/null && [ "$tenths" -lt 150 ]; do
  tenths=$((tenths + 1))
  [ "$tenths" -eq 100 ] && kill -QUIT "$pid" 2>/dev/null
  sleep 0.1
done
[ $# -eq 0 ] || rm -rf "$@"
`;

/**
 * Ensures that a server does not outlive us, even after kill -9. Uses a shell, which takes 1 MB, while another Node.js
 * process would take 40.
 * @returns a function that cancels the watchdog once the server has exited
 */
export function watchOver(serverPid: number, deleteAfterDeath: readonly string[]): () => void {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', String(serverPid), ...deleteAfterDeath], {
    cwd: '/',
    env: PROGRAM_ENV,
    stdio: ['pipe', 'ignore', 'ignore'],
    // Its own session, so that Ctrl-C in a terminal doesn't end it before us.
    detached: true,
  });
  // It must not keep our process alive.
  shell.unref();
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  shell.stdin.on('error', () => undefined); // It ended before us.
  return () => shell.kill('SIGKILL');
}
