import { expect } from 'chai';
import { checkEvents } from '../../../src/email/carriers/reports/events.js';
import { CARRIERS } from '../../../src/email/carriers/allCarriers.js';
import { BOUNCES } from '../../support/carrierReports.js';
import { cpuTimer } from '../../support/cpuTime.js';

const TENANT = 7;
/** What the events of all carriers are read from. */
const REPORTS: Readonly<Record<string, object>> = {
  ...Object.fromEntries(Object.entries(BOUNCES).map(([kind, make]) => [kind, make('1', TENANT)])),
  mailgun: { 'event-data': BOUNCES.mailgun('1', TENANT) },
  sendgrid: {
    event: 'bounce',
    type: 'bounce',
    sg_event_id: 'id',
    deliveryid: '1',
    tenantid: TENANT,
    email: 'ada@example.com',
    timestamp: Date.now() / 1000,
    reason: 'no such user',
    status: '5.1.1',
    url: 'https://example.com/',
  },
};

/** Two of them are as long as the longest report of most carriers. */
const HEAVY: Readonly<Record<string, unknown>> = {
  text: ' '.repeat(240_000),
  numbers: Array.from({ length: 120_000 }, () => 1),
  objects: Array.from({ length: 80_000 }, () => ({})),
};
const MAX_CPU_MS = 100;

/** Of up to three runs: one may include a collection of garbage that others left. */
function leastCpuMs(work: () => unknown): number {
  let least = Infinity;
  for (let run = 0; run < 3 && least > MAX_CPU_MS; run++) {
    const cpuMs = cpuTimer();
    work();
    least = Math.min(least, Math.round(cpuMs()));
  }
  return least;
}

type Path = readonly string[];

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, each] of Object.entries(value)) yield* pathsIn(each, [...path, name]);
}

/** The value with another one in this place, if it has the place. */
function replaced(value: unknown, [name, ...rest]: Path, by: unknown): unknown {
  if (name === undefined) return by;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]): [string, unknown] => [
    key,
    key === name ? replaced(each, rest, by) : each,
  ]);
  const members: Readonly<Record<string, unknown>> = Object.fromEntries(entries);
  return Array.isArray(value) ? Object.values(members) : members;
}

describe('attack: reports that are heavy to read, signed by the tenant itself', () => {
  for (const { kind, reports } of CARRIERS) {
    if (!reports) continue;
    it(`take a moment, whatever two members of one hold: ${kind}`, () => {
      const { read } = reports.open({});
      const report = REPORTS[kind];
      const places = [...pathsIn(report)].flatMap((path) =>
        Object.entries(HEAVY).map(([what, value]) => ({ path, what, value })),
      );
      const slow: string[] = [];
      for (const [index, one] of places.entries()) {
        for (const other of places.slice(index + 1)) {
          if (one.path === other.path) continue;
          const item = replaced(replaced(report, one.path, one.value), other.path, other.value);
          const ms = leastCpuMs(() =>
            checkEvents(read(item as never, { reportId: 'id', tenantid: TENANT }), TENANT, Date.now()),
          );
          if (ms <= MAX_CPU_MS) continue;
          const names = [one, other].map(({ path, what }) => `${path.join('.')}: ${what}`);
          slow.push(`${names.join(', ')} (${ms} ms)`);
        }
        if (slow.length > 10) break;
      }
      expect(places.length).to.be.above(20);
      expect(slow).to.deep.equal([]);
    });
  }
});
