import { readFileSync } from 'node:fs';

/** CPU time of this process and, on Linux, of all its children that have exited. */
export function cpuSecondsWithChildren(): number {
  try {
    // After the name: utime, stime, cutime and cstime are fields 14 to 17.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
    const polls = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return polls / TICKS_PER_SECOND;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }
}

/** USER_HZ, the unit in which Linux reports, whatever the kernel's tick. */
const TICKS_PER_SECOND = 100;
