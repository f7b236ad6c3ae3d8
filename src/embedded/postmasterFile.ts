import { readFile, unlink } from 'node:fs/promises';
import path from 'node:path';
import { runProgram } from './runProgram.js';

/** What `postmaster.pid` in a data folder reports: whether a server is running, and accepts connections. */
export type ServerState =
  | { readonly kind: 'none' }
  /** Starting or stopping; check again. */
  | { readonly kind: 'changing' }
  | { readonly kind: 'ready'; readonly pid: number; readonly port: number };

/** Line numbers in the file, from 0. PostgreSQL: src/include/utils/pidfile.h. */
const PID_LINE = 0;
const PORT_LINE = 3;
const STATUS_LINE = 7;

export async function readServerState(data: string): Promise<ServerState> {
  const lines = (await readPostmasterFile(data))?.split('\n');
  const pid = Number(lines?.[PID_LINE]);
  // A negative pid belongs to a stand-alone backend, which accepts no connections.
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return { kind: 'none' };
  if (!isAlive(pid)) return { kind: 'none' };
  if (lines[STATUS_LINE]?.trim() === 'ready') return { kind: 'ready', pid, port: Number(lines[PORT_LINE]) };
  return { kind: 'changing' };
}

/**
 * Removes a `postmaster.pid` left behind by kill -9 or a reboot if its pid now belongs to another program. PostgreSQL itself
 * notices an unused pid, but refuses to start while any program has it.
 */
export async function removeStaleFile(data: string): Promise<void> {
  const before = await readPostmasterFile(data);
  const pid = Number(before?.split('\n')[PID_LINE]);
  if (before === undefined || !Number.isInteger(pid) || pid <= 0) return;
  if (!isAlive(pid) || (await isPostgres(pid))) return;
  if ((await readPostmasterFile(data)) === before) await unlink(path.join(data, 'postmaster.pid'));
}

async function readPostmasterFile(data: string): Promise<string | undefined> {
  return readFile(path.join(data, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // It exists, under another account.
  }
}

/** True if it can't be determined, so that the file stays. A zombie doesn't count as running. */
async function isPostgres(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat !== undefined) return /^\d+ \(postgres\) [^ZX]/.test(stat);
  const listed = await runProgram('ps', ['-o', 'comm=', '-p', String(pid)], { user: undefined, cwd: '/' });
  return !listed.ok || listed.output.endsWith('postgres');
}
