import { readFile } from 'node:fs/promises';
import pg from 'pg';

/** Ticks of the kernel's clock in a second; the same on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

/** CPU that a process has used, all threads together. Linux only. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  // The second field is the name, in parentheses, and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Memory of a process that is not swapped out, in MiB. Linux only. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** CPU that the server's processes have used which are alive now. Linux only, on the same machine. */
export async function postgresCpuSeconds(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>(
    'select pid from pg_stat_activity where pid <> pg_backend_pid()',
  );
  await client.end();
  const used = await Promise.all(rows.map(({ pid }) => cpuSeconds(pid)));
  return used.reduce((sum, seconds) => sum + seconds, 0);
}
