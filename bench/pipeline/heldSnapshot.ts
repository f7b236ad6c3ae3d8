import pg from 'pg';
import { countDeadTuples, holdSnapshot, sumOf, type DeadTuples } from './deadTuples.js';
import { describeLatency, measureLatency } from './emailLatency.js';
import type { Findings } from './findings.js';
import { describeMemory, assessGrowth, pidsOf, readMemory, type Sample } from './memory.js';
import { mutateRowpost } from './mutations.js';
import { percentile, slope } from './numbers.js';
import type { Options } from './options.js';
import { withSite } from './site.js';
import { startStatementProxy } from './statementProxy.js';

const CONNECTIONS = 32;
const PER_SECOND = 200;
const WARM_UP = { perSecond: 100, seconds: 10 };
const MINUTE_SECONDS = 60;
/** How the names of statements begin by which work is claimed: the relay's poll, and a worker's start of sending. */
const CLAIMS: readonly string[] = ['relay_poll', 'sending_start'];
const CLAIM_P99_MS = 50;
/** Dead rows of the ledger that count as flat: one for a hundred events. */
const DEAD_PER_EVENT = 0.01;

/**
 * A session idle in a transaction, so that vacuum can remove nothing, while events flow: what claiming costs, and
 * whether dead rows collect, and whether the processes grow. Relay and worker reach PostgreSQL through a proxy that times their statements.
 */
export async function heldSnapshot({ minutes, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis'] as const)) {
    await withSite(async (site) => {
      const { installation, shop, carrier } = site;
      const { databaseUrl } = installation;
      const proxy = await startStatementProxy(databaseUrl);
      const client = new pg.Client({ connectionString: databaseUrl });
      // As in holdSnapshot: the error that ends the run is the one to be seen.
      client.on('error', () => undefined);
      await client.connect();
      const running = await site.startAll(backend, { DATABASE_URL: proxy.url });
      const mutator = mutateRowpost(running.baseUrl, shop, CONNECTIONS);
      await measureLatency(mutator, carrier, WARM_UP);
      const release = await holdSnapshot(databaseUrl);
      proxy.take();
      let worstP99 = 0;
      const samples: Sample[] = [];
      const dead = [{ x: 0, y: sumOf(await countDeadTuples(client, 'rowpost')) }];
      for (let minute = 1; minute <= Math.ceil(minutes); minute++) {
        const seconds = Math.min(1, minutes - minute + 1) * MINUTE_SECONDS;
        const measured = await measureLatency(mutator, carrier, { perSecond: PER_SECOND, seconds });
        const statements = proxy.take();
        const claims = claimsAmong(statements);
        for (const name of claims) worstP99 = Math.max(worstP99, p99(statements, name));
        const ledger = await countDeadTuples(client, 'rowpost');
        const queue = await countDeadTuples(client, 'bullmq');
        dead.push({ x: (dead.at(-1)?.x ?? 0) + measured.fromWrite.length, y: sumOf(ledger) });
        findings.note(`minute ${minute}: ${describeStatements(statements, claims)}`);
        findings.note(`  dead rows: ledger ${describeDead(ledger)}; queue ${sumOf(queue)}`);
        const mib = await readMemory(pidsOf(running));
        samples.push({ minute, mib });
        findings.note(`  ${describeMemory(mib)}; ${describeLatency(measured)}`);
        if (minute >= minutes)
          findings.note(`slowest statements: ${describeStatements(statements, slowest(statements))}`);
      }
      findings.bar(`held snapshot, ${backend}: claim p99, worst minute`, worstP99, {
        atMost: CLAIM_P99_MS,
        unit: 'ms',
      });
      findings.bar(`held snapshot, ${backend}: dead rows of the ledger an event`, slope(dead), {
        atMost: DEAD_PER_EVENT,
      });
      assessGrowth(`held snapshot, ${backend}`, samples, findings);
      mutator.close();
      await release();
      await client.end();
      await installation.stopParts();
      await proxy.stop();
    });
  }
}

type Statements = ReadonlyMap<string, readonly number[]>;

function describeStatements(statements: Statements, names: readonly string[]): string {
  return names
    .map((name) => {
      const times = statements.get(name) ?? [];
      const at = (share: number): string => percentile(times, share).toFixed(1);
      return `${name} p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms (${times.length})`;
    })
    .join('; ');
}

/** Throws when one is not there: then its name has changed, and the figures would be of something else. */
function claimsAmong(statements: Statements): readonly string[] {
  return CLAIMS.flatMap((prefix) => {
    const names = [...statements.keys()].filter((name) => name.startsWith(prefix));
    if (names.length === 0) throw new Error(`no statement is named ${prefix}…`);
    return names;
  });
}

const p99 = (statements: Statements, name: string): number => percentile(statements.get(name) ?? [], 0.99);

function slowest(statements: Statements): readonly string[] {
  return [...statements.keys()].sort((a, b) => p99(statements, b) - p99(statements, a)).slice(0, 8);
}

function describeDead(counts: DeadTuples): string {
  const tables = [...counts].slice(0, 5).map(([table, dead]) => `${table} ${dead}`);
  return `${sumOf(counts)}${tables.length > 0 ? ` (${tables.join(', ')})` : ''}`;
}
