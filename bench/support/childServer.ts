import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A peer in a process of its own, which prints its port when it listens. */
export interface ChildServer {
  readonly url: string;
  readonly pid: number;
  /** Resolves when it has ended, however that came. */
  readonly ended: Promise<unknown>;
  /** @param signal SIGKILL to crash it */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** @param node another Node, for a script in plain JavaScript */
export async function startChildServer(
  script: URL,
  args: readonly string[],
  node?: string,
): Promise<ChildServer> {
  const loader = node === undefined ? ['--import', 'tsx'] : [];
  const child: ChildProcess = spawn(node ?? process.execPath, [...loader, script.pathname, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (!child.stdout || child.pid === undefined) throw new Error(`${script.pathname} could not be started`);
  const ended = once(child, 'exit');
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: `http://127.0.0.1:${port}/`,
    pid: child.pid,
    ended,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await ended;
    },
  };
}
