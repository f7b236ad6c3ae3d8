import { expect } from 'chai';
import { openInstallation } from '../../../src/process/compose.js';
import { openDatabase, type Database } from '../../../src/db/pool/database.js';
import { preparedText, type PreparedText } from '../../../src/db/pool/preparedStatements.js';
import { setDefaultsOfRoles } from '../../../src/db/pool/sessionSettings.js';
import { UsageError } from '../../../src/foundation/errors.js';
import {
  hasPgBouncer,
  startPooledPostgres,
  throughPgBouncer,
  type PooledPostgres,
} from '../../support/pgbouncer.js';
import { PREPARED_TEMPLATE } from '../../support/preparedCluster.js';
import { budgetOf, testConfig, testKeyRing, testLog } from '../../support/testConfig.js';
import { databaseUrl } from '../../support/templateDatabase.js';
import { formatted } from '../../../src/db/sql/sql.js';

/** `npm run test:pgbouncer` runs the parts of the suite that need PostgreSQL through it. */
if (hasPgBouncer()) {
  describe('through PgBouncer in transaction mode', () => {
    let postgres: PooledPostgres;
    let direct: string;
    let pooled: string;
    let database: Database;

    const open = (preparedStatements: boolean, requestTimeoutMs = 20_000): Database =>
      openDatabase({
        url: pooled,
        directUrl: direct,
        preparedStatements,
        budget: budgetOf({}),
        keyRing: testKeyRing,
        statementTimeoutMs: 15_000,
        requestTimeoutMs,
        lockTimeoutMs: 5_000,
        poolTimeoutMs: 5_000,
        applicationName: 'rowpost test',
        log: testLog,
      });
    const read = async (of: Database, statement: PreparedText): Promise<string> => {
      const outcome = await of.transactions.run({
        tenantid: null,
        mode: 'read',
        statements: [{ statement, values: [] }],
      });
      return outcome.kind === 'done' ? String(outcome.results[0]?.[0]?.[0]) : outcome.error.code;
    };

    before(async () => {
      postgres = await startPooledPostgres(['ignore_startup_parameters = extra_float_digits']);
      direct = databaseUrl(postgres.url, PREPARED_TEMPLATE);
      pooled = throughPgBouncer(direct, postgres);
      database = open(false);
    });
    after(async () => {
      await database.close();
      await postgres.stop();
    });

    async function refusal(settings: Readonly<Record<string, string>>): Promise<string> {
      const opened = await openInstallation('web', 'web', testConfig(settings)).catch(
        (error: unknown) => error,
      );
      if (opened instanceof UsageError) return opened.message;
      if (opened instanceof Error) throw opened;
      await (opened as { stop(): Promise<void> }).stop();
      return 'it starts';
    }

    it('startup fails, naming the cause, until everything is set up', async () => {
      expect(await refusal({ DATABASE_URL: pooled }))
        .to.include('connection pooler, which refuses the startup parameter')
        .and.include('DATABASE_DIRECT_URL');
      expect(await refusal({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: pooled })).to.include(
        'DATABASE_DIRECT_URL leads to a connection pooler too',
      );
      const both = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: direct };
      expect(await refusal(both))
        .to.include('statement_timeout is 0, not 15000')
        .and.include('rowpost release');
      const { pool, tenants, settings } = database;
      await setDefaultsOfRoles(pool, await tenants.names(), settings);
      await reconnect();
      expect(await refusal(both)).to.include('PREPARED_STATEMENTS=off');
      expect(await refusal({ ...both, PREPARED_STATEMENTS: 'off' })).to.equal('it starts');
      const other = { ...both, DATABASE_DIRECT_URL: postgres.url };
      expect(await refusal(other)).to.include('different databases');
    });

    it('a pooler that ignores the startup parameter is detected', async () => {
      const ignoring = await startPooledPostgres(['ignore_startup_parameters = options']);
      try {
        const url = throughPgBouncer(databaseUrl(ignoring.url, PREPARED_TEMPLATE), ignoring);
        expect(await refusal({ DATABASE_URL: url })).to.include('leads to a connection pooler: what is set');
      } finally {
        await ignoring.stop();
      }
    });

    it("no process ever runs another process's prepared statement", async () => {
      const processes = [open(true), open(true), open(true)];
      try {
        const seen = new Map<string, number>();
        for (let round = 0; round < 40; round++) {
          const responses = processes.flatMap((process, owner) =>
            STATEMENTS[owner]!.map(async (statement, index) => {
              const response = await read(process, statement);
              const kind =
                response === `${owner}.${index}` ? 'own' : /^\d/.test(response) ? 'another' : 'refused';
              seen.set(kind, (seen.get(kind) ?? 0) + 1);
            }),
          );
          await Promise.all(responses);
        }
        expect(seen.get('another')).to.equal(undefined);
        expect(seen.get('own')).to.be.above(0);
      } finally {
        await Promise.all(processes.map((process) => process.close()));
      }
    });

    it('a request that takes too long is canceled, without affecting others', async () => {
      const brief = open(false, 500);
      try {
        const others = Promise.all(
          Array.from({ length: 4 }, () => read(database, preparedText(`select 'fine' from pg_sleep(1.5)`))),
        );
        expect(await read(brief, preparedText('select pg_sleep(30)::text'))).to.equal('REQUEST_TIMEOUT');
        expect(new Set(await others)).to.deep.equal(new Set(['fine']));
      } finally {
        await brief.close();
      }
      const { rows } = await database.ledgerPool.query(
        `select from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`,
      );
      expect(rows).to.have.length(0);
    });

    /** What is open keeps the defaults that it began with. */
    async function reconnect(): Promise<void> {
      await database.ledgerPool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and usename = current_user and application_name = 'rowpost test'
           and current_setting('port') is not null and pid <> pg_backend_pid()`,
      );
    }
  });
}

const STATEMENTS: readonly (readonly PreparedText[])[] = Array.from({ length: 3 }, (_, owner) =>
  Array.from({ length: 6 }, (__, index) => preparedText(formatted(`select '${owner}.${index}'`))),
);
