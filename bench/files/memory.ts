import { readFile } from 'node:fs/promises';

const SAMPLE_MS = 50;

/** Watches the resident memory of a process. `stop` returns how far it rose above its beginning, in MB. */
export async function watchMemory(pid: number): Promise<{ stop(): Promise<number> }> {
  const before = await residentMb(pid);
  let most = before;
  const look = async (): Promise<void> => {
    most = Math.max(most, await residentMb(pid));
  };
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = look();
  }, SAMPLE_MS);
  return {
    async stop() {
      clearInterval(timer);
      await looking;
      await look();
      return most - before;
    },
  };
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1000;
}
