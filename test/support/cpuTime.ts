/**
 * @returns the milliseconds of CPU time of this process since the call, to which a busy machine adds nothing. User and
 * system time together: the kernel divides them by samples.
 */
export function cpuTimer(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}
