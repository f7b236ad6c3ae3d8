import { parseArgs } from 'node:util';

export type Backend = 'redis' | 'postgres';

/** How much of everything a run does. */
export interface Options {
  /** Names of the parts to run; empty for the default ones. */
  readonly parts: readonly string[];
  /** Events of a backlog. */
  readonly events: number;
  /** In turns with its peers, of `drain`. */
  readonly rounds: number;
  /** Of each measurement under load. */
  readonly seconds: number;
  /** Of the long parts, memory and heldSnapshot. */
  readonly minutes: number;
  /** Where the queue is, for the parts that would otherwise measure more than one. */
  readonly backends: readonly Backend[] | undefined;
}

const USAGE = `npm run bench -- pipeline [part …] [--events 50000] [--rounds 3] [--seconds 12] [--minutes 30] [--backend redis|postgres]`;

/** Throws, with the usage, when an argument is not understood. */
export function readOptions(args: readonly string[]): Options {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      events: { type: 'string', default: '50000' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '12' },
      minutes: { type: 'string', default: '30' },
      backend: { type: 'string' },
    },
  });
  const { backend } = values;
  if (backend !== undefined && backend !== 'redis' && backend !== 'postgres') throw new Error(USAGE);
  return {
    parts: positionals,
    events: positive(values.events),
    rounds: positive(values.rounds),
    seconds: positive(values.seconds),
    minutes: positive(values.minutes),
    backends: backend && [backend],
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(USAGE);
  return value;
}
