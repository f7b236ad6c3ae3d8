import type { Link } from '../wire/link.js';
import type { InHand } from './calls.js';

export type Part = 'web' | 'relay' | 'worker';
/** What a process depends on. */
export type Service = 'postgres' | 'redis' | 'provider';

export interface ExitOfProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One process of the fleet, with links of its own to all that it depends on. */
export interface Member {
  readonly part: Part;
  /** Such as "worker 12". */
  readonly name: string;
  readonly pid: number;
  readonly links: Readonly<Partial<Record<Service, Link>>>;
  /** Of a web process. */
  readonly baseUrl: string;
  /** Its last lines, for whoever has to find out why. */
  readonly lastWords: () => string;
  readonly exited: Promise<ExitOfProcess>;
  hasExited(): boolean;
  inHand(): InHand;
  signal(signal: NodeJS.Signals): void;
}

/** Kills at once; nothing that is held goes on, nor what waits for a connection to be accepted. */
export async function killHard(member: Member): Promise<void> {
  member.signal('SIGKILL');
  for (const link of Object.values(member.links)) link.close();
  await member.exited;
}
