import type { Link } from '../wire/link.js';
import type { InHand } from './calls.js';

export type Part = 'web' | 'relay' | 'worker';
/** A dependency of a process. */
export type Service = 'postgres' | 'redis' | 'carrier';
/** By link: the carrier has one for HTTP and one for SMTP. */
export type LinkName = Service | 'smtp';

export const serviceOf = (link: LinkName): Service => (link === 'smtp' ? 'carrier' : link);

export interface ExitOfProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of the fleet, with its own links to its dependencies. */
export interface Member {
  readonly part: Part;
  /** Such as "worker 12". */
  readonly name: string;
  readonly pid: number;
  readonly links: Readonly<Partial<Record<LinkName, Link>>>;
  /** Of a web process. */
  readonly baseUrl: string;
  /** Its last lines of output, for debugging. */
  readonly lastWords: () => string;
  readonly exited: Promise<ExitOfProcess>;
  hasExited(): boolean;
  inHand(): InHand;
  signal(signal: NodeJS.Signals): void;
}

/** Kills immediately; held requests and pending connections are dropped. */
export async function killHard(member: Member): Promise<void> {
  member.signal('SIGKILL');
  for (const link of Object.values(member.links)) link.close();
  await member.exited;
}
