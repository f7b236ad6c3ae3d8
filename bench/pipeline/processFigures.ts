import { readFile } from 'node:fs/promises';
import pg from 'pg';

/** Polls of the kernel's clock in a second; the same on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

/** CPU that a process and its children have used, such as the render processes of a worker. Linux only. */
export async function cpuSeconds(pid: number): Promise<number> {
  const { ownSeconds, endedSeconds } = await readStat(pid);
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'latin1')).split(' ').filter(Boolean);
  const alive = await Promise.all(children.map((child) => cpuSeconds(Number(child))));
  return alive.reduce((sum, seconds) => sum + seconds, ownSeconds + endedSeconds);
}

/** CPU that this process's children have used that have ended. Linux only. */
export async function endedChildrenCpuSeconds(): Promise<number> {
  return (await readStat(process.pid)).endedSeconds;
}

interface ProcessStat {
  readonly parent: number;
  readonly ownSeconds: number;
  /** Of its children that have ended. */
  readonly endedSeconds: number;
}

async function readStat(pid: number): Promise<ProcessStat> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  // The second field is the name, in parentheses, and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (at: number): number => Number(fields[at]) / TICKS_PER_SECOND;
  return {
    parent: Number(fields[1]),
    ownSeconds: seconds(11) + seconds(12),
    endedSeconds: seconds(13) + seconds(14),
  };
}

/** Memory of a process that is not swapped out, in MiB. Linux only. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Memory that a process shares with no other, in MiB: of a session of PostgreSQL, without the shared buffers. Linux only. */
export async function privateMiB(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
  const parts = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gm)];
  return parts.reduce((sum, [, kibibytes]) => sum + Number(kibibytes), 0) / 1024;
}

/** CPU that the server's processes have used, also those that have ended. Linux only, on the same machine. */
export async function postgresCpuSeconds(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>(
    'select pid from pg_stat_activity where pid <> pg_backend_pid()',
  );
  await client.end();
  const alive = await Promise.all(rows.map(({ pid }) => readStat(pid)));
  const postmaster = await readStat(alive[0]?.parent ?? 0);
  const used = alive.map(({ ownSeconds }) => ownSeconds);
  return used.reduce((sum, seconds) => sum + seconds, postmaster.ownSeconds + postmaster.endedSeconds);
}
