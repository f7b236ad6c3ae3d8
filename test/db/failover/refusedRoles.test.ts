import { expect } from 'chai';
import pg from 'pg';
import { requireReachable } from '../../../src/db/failover/reachability.js';
import { missingRights } from '../../../src/db/isolation/rights.js';
import { migrate } from '../../../src/db/schema/migrate.js';
import { UsageError } from '../../../src/foundation/errors.js';
import { requireCurrentSchema } from '../../../src/process/compose.js';
import { testServer, type TestServer } from '../../support/postgresServer.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';

const ROLE = `rowpost_weak_${process.pid}`;
const BASE = `rowpost_weak_base_${process.pid}`;

/** Each right that the service needs: how it is lost, and what a start says then. The role owns the database at first. */
const RIGHTS: readonly (readonly [right: string, lost: string, back: string, says: RegExp])[] = [
  [
    'LOGIN',
    `alter role ${ROLE} nologin`,
    `alter role ${ROLE} login`,
    new RegExp(`role "${ROLE}" of DATABASE_URL .*may not log in: alter role "${ROLE}" login`),
  ],
  [
    'a connection',
    `alter role ${ROLE} connection limit 0`,
    `alter role ${ROLE} connection limit -1`,
    new RegExp(`role "${ROLE}" has no connection left.*alter role "${ROLE}" connection limit`),
  ],
  [
    'a connection to the database',
    `alter database ${BASE} connection limit 0`,
    `alter database ${BASE} connection limit -1`,
    new RegExp(`database "${BASE}" has no connection left.*alter database "${BASE}" connection limit`),
  ],
  [
    'a database that may be connected to',
    `alter database ${BASE} allow_connections false`,
    `alter database ${BASE} allow_connections true`,
    new RegExp(`accepts no connections: alter database "${BASE}" allow_connections true`),
  ],
  [
    'CONNECT',
    `alter database ${BASE} owner to current_user; revoke connect on database ${BASE} from public, ${ROLE}`,
    `grant connect on database ${BASE} to public; alter database ${BASE} owner to ${ROLE}`,
    new RegExp(
      `role "${ROLE}" of DATABASE_URL may not connect: grant connect on database "${BASE}" to "${ROLE}"`,
    ),
  ],
  [
    'CREATE on the database',
    `alter database ${BASE} owner to current_user`,
    `alter database ${BASE} owner to ${ROLE}`,
    new RegExp(`grant create on database "${BASE}" to "${ROLE}"`),
  ],
  ['CREATEROLE', `alter role ${ROLE} nocreaterole`, `alter role ${ROLE} createrole`, /createrole$/],
  ['INHERIT', `alter role ${ROLE} noinherit`, `alter role ${ROLE} inherit`, /inherit$/],
];

for (const major of [15, 18] as const) {
  describe(`a role that lacks a right, on PostgreSQL ${major}`, () => {
    let server: TestServer;
    const urlOf = (user: string): string => {
      const url = new URL(databaseUrl(server.url, BASE));
      return Object.assign(url, { username: user, password: 'weak' }).href;
    };
    const own = (sql: string): Promise<void> => run(urlOf(ROLE), sql);
    /** As the role that made all of them. */
    const asService = (sql: string): Promise<void> => run(databaseUrl(server.url, BASE), sql);
    const run = async (connectionString: string, sql: string): Promise<void> => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      try {
        await client.query(sql);
      } finally {
        await client.end();
      }
    };
    before(async () => {
      server = await testServer(major);
      await server.run(`create role ${ROLE} login createrole password 'weak'`);
      await server.run(`grant ${ROLE} to current_user`);
      await server.run(`create database ${BASE} template template0 owner ${ROLE}`);
    });
    after(async () => {
      await server.dropDatabase(BASE);
      await server.run(`drop role ${ROLE}`);
    });

    /** What starting says; undefined if nothing is missing. @param work what a process does then, by default what a release checks */
    async function start(
      user: string,
      work = async (database: ReturnType<typeof openTestDatabase>): Promise<void> => {
        const lacking = await missingRights(database.pool);
        if (lacking.length > 0) throw new UsageError(lacking.join('\n'));
      },
    ): Promise<string | undefined> {
      const database = openTestDatabase(urlOf(user));
      try {
        await requireReachable(database.pool);
        await work(database);
        return undefined;
      } catch (error) {
        if (error instanceof UsageError) return error.message;
        throw error;
      } finally {
        await database.close();
      }
    }

    for (const [right, lost, back, says] of RIGHTS) {
      it(`is told so: ${right}`, async () => {
        for (const sql of lost.split('; ')) await server.run(sql);
        try {
          expect(await start(ROLE))
            .to.match(says)
            .and.not.include('Is it running');
        } finally {
          for (const sql of back.split('; ')) await server.run(sql);
        }
        expect(await start(ROLE)).to.equal(undefined);
      });
    }

    for (const encoding of ['LATIN1', 'SQL_ASCII']) {
      it(`is told so: the encoding ${encoding}`, async () => {
        const name = `${BASE}_${encoding.toLowerCase()}`;
        await server.run(
          `create database ${name} template template0 encoding ${encoding} locale 'C' owner ${ROLE}`,
        );
        const url = new URL(databaseUrl(server.url, name));
        const database = openTestDatabase(Object.assign(url, { username: ROLE, password: 'weak' }).href);
        try {
          expect(await missingRights(database.pool)).to.deep.equal([
            `The encoding of the database is ${encoding}: Rowpost needs UTF8, dump and restore it into such a database`,
          ]);
        } finally {
          await database.close();
          await server.dropDatabase(name);
        }
      });
    }

    it('is told so: what belongs to another role, and what its own has lost', async () => {
      const database = openTestDatabase(urlOf(ROLE));
      await migrate(database.pool);
      await database.close();
      const other = `${ROLE}_other`;
      await server.run(`create role ${other} login createrole password 'weak'`);
      await server.run(`grant ${other} to current_user`);
      await own(`grant connect, create on database ${BASE} to ${other}`);
      try {
        const foreign = new RegExp(`schema "rowpost" belongs to "${ROLE}": connect as that role`);
        expect(await start(other)).to.match(foreign);
        expect(await start(other, requireCurrentSchema)).to.match(foreign);
        await own(`grant usage on schema rowpost to ${other}`);
        expect(await start(other, requireCurrentSchema)).to.match(foreign);
        await own(`revoke usage on schema rowpost from ${ROLE}`);
        const lost = new RegExp(`grant usage on schema "rowpost" to "${ROLE}"`);
        expect(await start(ROLE)).to.match(lost);
        expect(await start(ROLE, requireCurrentSchema)).to.match(lost);
        await own(`grant usage on schema rowpost to ${ROLE}`);
        expect(await start(ROLE, requireCurrentSchema)).to.equal(undefined);
        await own(`grant create on schema rowpost to ${other}`);
        await asService(`alter table rowpost.migration owner to ${other}`);
        const table = new RegExp(`"${other}" owns 1 table of the schema "rowpost", such as "migration"`);
        expect(await start(ROLE)).to.match(table);
        expect(await start(ROLE, requireCurrentSchema)).to.match(table);
        await asService(`alter table rowpost.migration owner to ${ROLE}`);
      } finally {
        await asService(`reassign owned by ${other} to ${ROLE}; drop owned by ${other}`);
        await server.run(`drop role ${other}`);
      }
    });
  });
}
