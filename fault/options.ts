import { parseArgs } from 'node:util';
import type { Backend } from './markers.js';
import { ROUTES, type RedisKind, type Route } from './rig/rig.js';
import { FAULT_NAMES } from './faults/index.js';
import { SHOP_CARRIERS, type ShopCarrier } from './rig/shopCarrier.js';
import { WINDOWS } from './windows/index.js';

export const USAGE = `npm run fault -- [options]
  --kills <n>       strikes in each window (default 10; 200 in the long form)
  --backend <name>  queue backend: redis or postgres (default: both, one after the other)
  --window <name>   run only this window, such as W8; repeatable
  --carrier <name>  what shops send with in the windows: sendgrid, smtp, resend, or fallback (SMTP by a server that is often busy,
                    then SendGrid); repeatable (default: all four, a shop each)
  --minutes <n>     start no strike after this many minutes, and check what was done
  --seconds <n>     duration of each dependency fault (default 4; 60 in the long form)
  --fault <name>    run only this fault, such as backends-terminated; repeatable
  --only <part>     produce only this table: windows, faults, history, failover, moves or patroni. history sends PostgreSQL back in time
                    --kills times, by one second to --seconds; failover replaces the primary with a synchronous standby --kills
                    times; patroni has three servers under Patroni, and only runs when asked for: as root on Debian it installs
                    patroni, etcd-server, haproxy and postgresql-15
  --moves <n>       moves of tenants between two cells, with --only moves (default 50)
  --route <name>    how processes find Patroni's leader: haproxy, or hosts for several in DATABASE_URL (default: both, one after
                    the other)
  --pooler          PgBouncer in transaction mode between processes and PostgreSQL, in the windows; the faults are then its own
  --redis <kind>    server (default), sentinel or cluster; with the last two, failover replaces the primary of Redis
  --rate <n>        mutations per second (default 20)
  --json <file>     also write the results to a file`;

const PARTS = ['windows', 'faults', 'history', 'failover', 'moves', 'patroni'] as const;
type Part = (typeof PARTS)[number];

export interface FaultOptions {
  readonly kills: number;
  readonly backends: readonly Backend[];
  readonly windows: readonly string[];
  readonly carriers: readonly ShopCarrier[];
  readonly minutes: number | undefined;
  /** Names of faults; all when empty. */
  readonly faults: readonly string[];
  readonly seconds: number;
  /** Which tables to produce; all but Patroni's when undefined. */
  readonly only: Part | undefined;
  readonly routes: readonly Route[];
  readonly redis: RedisKind;
  readonly pooled: boolean;
  readonly rate: number;
  /** Of tenants. */
  readonly moves: number;
  readonly json: string | undefined;
}

/** Throws an Error with a one-line message for the user. */
export function readOptions(args: readonly string[]): FaultOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '10' },
      backend: { type: 'string' },
      window: { type: 'string', multiple: true, default: [] },
      carrier: { type: 'string', multiple: true, default: [...SHOP_CARRIERS] },
      minutes: { type: 'string' },
      fault: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string', default: '4' },
      only: { type: 'string' },
      route: { type: 'string', multiple: true, default: [...ROUTES] },
      redis: { type: 'string', default: 'server' },
      pooler: { type: 'boolean', default: false },
      rate: { type: 'string', default: '20' },
      moves: { type: 'string', default: '50' },
      json: { type: 'string' },
    },
  });
  requireKnown(
    'window',
    values.window,
    WINDOWS.map(({ name }) => name),
  );
  requireKnown('fault', values.fault, FAULT_NAMES);
  requireKnown('carrier', values.carrier, SHOP_CARRIERS);
  requireKnown('route', values.route, ROUTES);
  return {
    kills: positive('--kills', values.kills),
    backends: values.backend === undefined ? ['redis', 'postgres'] : [backendNamed(values.backend)],
    windows: values.window,
    carriers: values.carrier as readonly ShopCarrier[],
    minutes: values.minutes === undefined ? undefined : positive('--minutes', values.minutes),
    faults: values.fault,
    seconds: positive('--seconds', values.seconds),
    only: values.window.length > 0 ? 'windows' : values.fault.length > 0 ? 'faults' : partNamed(values.only),
    routes: values.route as readonly Route[],
    redis: redisNamed(values.redis),
    pooled: values.pooler,
    rate: positive('--rate', values.rate),
    moves: positive('--moves', values.moves),
    json: values.json,
  };
}

function requireKnown(what: string, names: readonly string[], known: readonly string[]): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`there is no ${what} "${unknown}"; there are ${known.join(', ')}`);
}

function backendNamed(name: string): Backend {
  if (name !== 'redis' && name !== 'postgres') throw new Error('--backend is redis or postgres');
  return name;
}

function redisNamed(name: string): RedisKind {
  const known = (['server', 'sentinel', 'cluster'] as const).find((kind) => kind === name);
  if (known === undefined) throw new Error('--redis is server, sentinel or cluster');
  return known;
}

function partNamed(name: string | undefined): FaultOptions['only'] {
  if (name === undefined) return undefined;
  const known = PARTS.find((part) => part === name);
  if (known === undefined) throw new Error(`--only is one of ${PARTS.join(', ')}`);
  return known;
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${option} takes a whole number from 1`);
  return number;
}
