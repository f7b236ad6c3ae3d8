import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import pg from 'pg';
import { verifyExport } from '../../../src/control/tenants/exportFile.js';
import { exportTenant } from '../../../src/control/tenants/tenantExport.js';
import { importTenant } from '../../../src/control/tenants/tenantImport.js';
import { withArchive, writeArchive } from '../../../src/control/tenants/tablesArchive.js';
import { adoptTenant, deleteTenant, type CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { captureTable } from '../../../src/control/utility/capture.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import { fenceTenant, structureOf, unfenceTenant } from '../../../src/db/cells/moving/handOver.js';
import { leaveCell } from '../../../src/db/cells/moving/leaveCell.js';
import {
  listTables,
  measureTables,
  otherWriters,
  ownedByOthers,
} from '../../../src/db/cells/moving/movedTables.js';
import { copySequences } from '../../../src/db/cells/moving/sequences.js';
import { withWritesHeld } from '../../../src/db/cells/moving/writeHold.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import {
  adoptionWarnings,
  statementsToAdopt,
  statementsToRelease,
} from '../../../src/db/tenants/adoption.js';
import { findLostRoles, handOverSchema } from '../../../src/db/tenants/lostRoles.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createDataEngine, type DataEngine } from '../../../src/graphql/dataEngine.js';
import { expectDocumentedTable } from '../../support/documentedTable.js';
import { testConfig, testKeyRing, testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { setTraps, sprungTraps, trappedRows, trappedSchema } from '../../support/trappedSchema.js';

const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

interface Operation {
  readonly what: string;
  readonly statements: string;
  readonly run: () => Promise<unknown>;
}

if (HAS_PG_DUMP) {
  describe('attack: a statement of the service runs code of a tenant', function () {
    let test: TestDatabase;
    let engine: DataEngine;
    let tenant: CreatedTenant;
    let restored: CreatedTenant;
    let adopted: CreatedTenant;
    let folder: string;
    let app: pg.Client;
    let appRole: string;
    let lines: string[];
    let archive: Awaited<ReturnType<typeof writeArchive>>;

    before(async () => {
      test = await createTestDatabase({ postgres: 15 });
      engine = createDataEngine({ database: test.database, config: testConfig(), log: testLog });
      folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-statements-'));
      const { rows } = await test.database.pool.query<{ oid: number; name: string }>(
        'select oid, datname as name from pg_database where datname = current_database()',
      );
      appRole = `app_${rows[0]!.oid}`;
      await test.database.pool.query(
        `create role ${appRole} login password 'app'; grant connect, create on database ${rows[0]!.name} to ${appRole};
         grant ${appRole} to current_user`,
      );
      const url = new URL(test.url);
      [url.username, url.password] = [appRole, 'app'];
      app = new pg.Client({ connectionString: url.href });
      await app.connect();
      await setTraps(test.database.pool, app);
      await app.query(`create schema app; ${trappedSchema('app')} ${trappedRows('app')}`);
      await sprungTraps(test.database.pool);
    });
    after(async () => {
      await app.end();
      await test.drop();
      await rm(folder, { recursive: true });
    });

    const ask = async (document: string): Promise<void> => {
      const root = await new PrincipalSource(test.database.pool).load(tenant.tenantid, tenant.rootRoleid);
      const { body } = await engine.execute(root!, { query: document }, { allowMutation: true });
      expect(body).to.not.contain('"errors"');
    };
    const capture = async ({ tenantid, schema }: CreatedTenant, writers: 'all' | 'api'): Promise<void> => {
      const catalog = await engine.introspect(tenantid, schema);
      await inTransaction(test.database.pool, (trx) =>
        captureTable(trx, test.database, { tenantid, catalog, table: 'item' }, writers),
      );
    };
    const moving = async () => {
      const { tenantid, schema } = tenant;
      return { tenantid, schema, role: (await test.database.tenants.names()).tenant(tenantid) };
    };
    const end = () => ({ database: test.database, url: test.url });
    const create = (name: string): Promise<CreatedTenant> =>
      createTestTenant(test.database.pool, { name, rootLogin: 'root', rootPassword: 'correct horse' });

    const operations: readonly Operation[] = [
      {
        what: 'creates a tenant',
        statements: '`create role`, `create schema … authorization`, `grant`',
        run: async () => (tenant = await create('mallory')),
      },
      {
        what: "runs a tenant's script",
        statements: 'the script',
        run: () =>
          runTenantSql(test.database, {
            tenantid: tenant.tenantid,
            sql: trappedSchema(tenant.schema) + trappedRows(tenant.schema),
          }),
      },
      {
        what: 'reads a schema and settles who serves it',
        statements: '`select` from `pg_catalog`, `grant`, `alter role`',
        run: () => engine.introspect(tenant.tenantid, tenant.schema),
      },
      {
        what: 'captures a table',
        statements: '`create trigger`, `drop trigger`',
        run: () => capture(tenant, 'all'),
      },
      {
        what: 'serves a mutation of a captured table',
        statements: '`insert`, and its trigger `rowpost.capture_rows`',
        run: () => ask('mutation { create_item(input: {id: 7}) { id note w } }'),
      },
      {
        what: 'serves a query',
        statements: '`select`',
        run: () =>
          ask(`{ item(filter: "note = 'x' and c = 'c'") { id w } child { id } kept_items { note } }`),
      },
      { what: 'ends capture', statements: '`drop trigger`', run: () => capture(tenant, 'api') },
      {
        what: 'looks for what hinders a move',
        statements: '`select` from `pg_catalog`',
        run: async () => {
          await listTables(test.database.pool, tenant.schema);
          await measureTables(test.database.pool, tenant.schema);
          await otherWriters(test.database.pool, await moving());
          await ownedByOthers(test.database.pool, await moving());
        },
      },
      {
        what: 'holds the writes of a tenant that moves, fences it, and undoes it',
        statements: '`lock table`, `grant`, `revoke`',
        run: async () => {
          const { pool } = test.database;
          const here = await moving();
          const structure = await structureOf(pool, here);
          await withWritesHeld(pool, here, (hold) =>
            fenceTenant(hold, pool, here, { move: 1, movedTo: 'there', structure }),
          );
          await unfenceTenant(pool, here, 1);
        },
      },
      {
        what: 'copies the sequences of a tenant that moves',
        statements: '`select` from `pg_catalog`; `setval` as the tenant',
        run: async () => copySequences(test.database, test.database, await moving()),
      },
      {
        what: 'exports a tenant',
        statements: '`pg_dump`',
        run: async () => {
          lines = [];
          archive = await writeArchive(end(), tenant, path.join(folder, 'tables.dump'));
          await exportTenant(
            test.database.pool,
            { tenantid: tenant.tenantid, keyRing: testKeyRing, archive },
            (line) => Promise.resolve(void lines.push(line)),
          );
        },
      },
      {
        what: 'deletes a tenant',
        statements: '`drop schema … cascade`, `drop owned`, `drop role`',
        run: () => inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid)),
      },
      {
        what: 'imports a tenant',
        statements: '`pg_restore`; `create trigger`',
        run: async () => {
          const openLines = (): Readable => Readable.from(lines);
          const verified = await verifyExport({ openLines, signers: [testKeyRing] });
          await withArchive(end(), verified, path.join(folder, 'tables.dump'), () =>
            importTenant(test.database, {
              verified,
              openLines,
              keys: { from: testKeyRing, to: testKeyRing },
              rules: testConfig(),
              isForeign: false,
            }),
          );
        },
      },
      {
        what: 'leaves a cell',
        statements: '`drop schema … cascade`, `drop owned`, `drop role`',
        run: async () => {
          const here = await moving();
          await test.database.pool.query(`update rowpost.tenant set moved_to = 'there' where tenantid = $1`, [
            tenant.tenantid,
          ]);
          expect(await leaveCell(test.database.pool, here, 9)).to.equal(true);
        },
      },
      {
        what: 'gives a restored schema to its tenant (`release`)',
        statements: '`alter … owner to`, `reassign owned`',
        run: async () => {
          const { tenantid, schema } = restored;
          const names = await test.database.tenants.names();
          await inTransaction(test.database.pool, (client) =>
            handOverSchema(client, names, { tenantid, schema }),
          );
          await findLostRoles(test.database.pool);
        },
      },
      {
        what: "adopts and captures an application's schema",
        statements: '`grant`, `alter default privileges`, `create trigger`; `select` from `pg_catalog`',
        run: async () => {
          const of = { name: 'app', rootLogin: 'root', rootPassword: 'correct horse', schema: 'app' };
          adopted = await adoptTenant(test.database.pool, of);
          await adoptionWarnings(test.database.pool, 'app');
          await statementsToAdopt(test.database.pool, adopted);
          await capture(adopted, 'all');
        },
      },
      {
        what: 'releases it',
        statements: '`drop trigger`, `revoke`, `drop owned`, `drop role`',
        run: async () => {
          await statementsToRelease(test.database.pool, adopted);
          await inTransaction(test.database.pool, (tx) => deleteTenant(tx, adopted.tenantid));
        },
      },
    ];

    /** A dump that the service restored: all of it is the service's, and so ran its code. */
    const restoreAsService = async (): Promise<void> => {
      restored = await create('restored');
      const { tenantid, schema } = restored;
      const { service } = await test.database.tenants.names();
      await test.database.pool.query(`alter schema ${schema} owner to ${service}`);
      await test.database.pool.query(trappedSchema(schema) + trappedRows(schema));
      expect(tenantid).to.be.above(0);
      await sprungTraps(test.database.pool);
    };

    it('only as the tenant, or as the role without privileges, as docs/reference/isolation.md says', async () => {
      const lines = [
        '| The service … | by | Code of the tenant that ran | As |',
        '| --- | --- | --- | --- |',
      ];
      for (const { what, statements, run } of operations) {
        if (what.includes('restored')) await restoreAsService();
        await run();
        const { capture: captures } = await test.database.tenants.names();
        const { role } = await moving();
        // Notifications arrive with the response.
        await app.query('select');
        const sprung = await sprungTraps(test.database.pool);
        const strange = sprung.filter(
          ({ login, role: as, isReadOnly }) =>
            login !== role || (as !== role && !(as === captures && isReadOnly)),
        );
        expect(strange, what).to.deep.equal([]);
        const traps = [...new Set(sprung.map(({ trap }) => trap.replace(/ .*/, '')))].sort();
        const as = [
          ...new Set(sprung.map((each) => (each.role === role ? 'the tenant' : 'the capture role'))),
        ];
        lines.push(
          `| ${what} | ${statements} | ${traps.join(', ') || 'none'} | ${as.sort().join(', ') || '–'} |`,
        );
      }
      expectDocumentedTable('statements', lines.join('\n'));
    });
  });
}
