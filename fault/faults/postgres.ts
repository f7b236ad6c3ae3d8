import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { DependencyFault } from './fault.js';

export const postgresRestarted: DependencyFault = {
  name: 'postgres restarted',
  losesResponses: true,
  what: 'restarted, ending all sessions',
  inflict: (rig) => rig.restartPostgres(),
};

const TERMINATE_EVERY_MS = 500;
/** Three minutes in the long form. */
const TERMINATIONS_LAST = 3;

export const backendsTerminated: DependencyFault = {
  name: 'backends terminated',
  losesResponses: true,
  what: 'all sessions of the processes terminated twice a second',
  times: TERMINATIONS_LAST,
  async inflict({ ledger }, durationMs) {
    const until = Date.now() + durationMs;
    while (Date.now() < until) {
      await ledger.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()
           and backend_type = 'client backend' and application_name <> 'fault harness'`,
      );
      await delay(TERMINATE_EVERY_MS);
    }
  },
};

export const connectionsExhausted: DependencyFault = {
  name: 'connections exhausted',
  losesResponses: true,
  what: 'no free connections left in PostgreSQL',
  async inflict({ services, ledger }, durationMs) {
    const hoard: pg.Client[] = [];
    const until = Date.now() + durationMs;
    while (Date.now() < until) {
      const client = new pg.Client({ connectionString: services.databaseUrl, application_name: 'hoarder' });
      client.on('error', () => undefined);
      const got = await client.connect().then(
        () => true,
        () => false,
      );
      if (got) hoard.push(client);
      // Takes all connections. Occasionally one of the processes' own sessions is terminated, so that they need a new
      // one.
      else await endOneSession(ledger).catch(() => undefined);
    }
    await Promise.all(hoard.map((client) => client.end()));
  },
};

async function endOneSession(ledger: { query(sql: string): Promise<unknown> }): Promise<void> {
  await ledger.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
       and backend_type = 'client backend' and application_name not in ('fault harness', 'hoarder') order by random() limit 1`,
  );
  await delay(50);
}

export const snapshotHeld: DependencyFault = {
  name: 'snapshot held',
  what: 'a transaction with a snapshot stays open',
  times: 2,
  async inflict({ services }, durationMs) {
    const reader = new pg.Client({ connectionString: services.databaseUrl, application_name: 'reader' });
    reader.on('error', () => undefined);
    await reader.connect();
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from rowpost.outbox');
    await delay(durationMs);
    await reader.end();
  },
};
