import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { ExportWriter, type Header } from '../../../src/control/tenants/exportFile.js';
import { deleteTenant } from '../../../src/control/tenants/tenants.js';
import { MOVING_TABLES, STAYING_TABLES } from '../../../src/control/tenants/tenantTables.js';
import { KeyRing } from '../../../src/config/secrets.js';
import { runRowpost } from '../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import { createFleet, emailsPerOrder, setUpConfirmations, type Fleet } from '../../processes/fleet.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

/** Debian's package `postgresql-client` has it; that of version 15 can't dump a newer server. */
const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

/** What the API would store, in the tables that the confirmations leave empty; with numbers that JavaScript would round. */
const MORE_ROWS = `
  insert into rowpost.role_class (tenantid, name, creatorid) values (1, 'staff', 2);
  -- A parent with a higher id than its child.
  insert into rowpost.role (roleid, tenantid, login, parentid, classes) values (90, 1, 'boss', 2, '{1}'), (80, 1, 'clerk', 90, '{}');
  select setval('rowpost.role_roleid_seq', 90);
  insert into rowpost.policy_rule (tenantid, name, capabilities, targets, roles, classes, filter)
    values (1, 'own', '{select}', '{orders}', '{80}', '{1}', 'customer_id = 12345678901234567890.12');
  insert into rowpost.oidc_providers (tenantid, name, auth_uri, token_uri, jwks_uri, issuer, comparison_field)
    values (0, 'shared', 'https://id.example.com/a', 'https://id.example.com/t', 'https://id.example.com/j', 'https://id.example.com', 'sub');
  insert into rowpost.oidc_config (confid, tenantid, providerid, client_id, client_secret_uuid, client_secret_encrypted)
    values (1, 1, (select max(providerid) from rowpost.oidc_providers), 'client', gen_random_uuid(), 'SECRET oidc_config:1');
  insert into rowpost.oidc_key (kid, tenantid, confid, public_jwk, private_jwk_encrypted, jwks_uri)
    values ('a', 1, 1, '{}', 'SECRET oidc_key:a', '/oidc/1/jwks?tenantid=1');
  insert into rowpost.oidc_provisioning (tenantid, confid, parentid) values (1, 1, 90);
  insert into rowpost.oidc_group_class (tenantid, confid, group_name, classid) values (1, 1, 'staff', 1);
  insert into rowpost.role_oidc (tenantid, roleid, confid, sub_id) values (1, 80, 1, 'someone');
  insert into rowpost.role_oidc_class (tenantid, roleid, confid, classid) values (1, 80, 1, 1);
  insert into rowpost.sign_in_brand (tenantid, name, color) values (1, 'Shop', '#2f55d4');
  insert into rowpost.password_sender (tenantid, sender) values (1, 'Shop <accounts@example.com>');
  insert into rowpost.email_layouts (tenantid, name, template) values (1, 'base', 'é "{{ body }}" \\ 🙂');
  update rowpost.email_types set options = '{"limit": 123456789012345678901234567890.5}' where tenantid = 1;
  insert into rowpost.email_webhook_key (tenantid, verification_key) values (1, 'key');
  insert into rowpost.webhook_token (tenantid, token, report) values (1, 'token', 'report');
  insert into rowpost.email_suppression (tenantid, address, reason, source) values (1, 'gone@example.com', '550', 'bounce');
  insert into rowpost.email_unsubscribe (tenantid, address, all_types, source) values (1, 'no@example.com', true, 'link');
  insert into rowpost.capture_gap (tenantid, table_name, since, until) values (1, 'orders', now() - interval '2 hours', now() - interval '1 hour');
  insert into rowpost.file_table (tenantid, table_name, column_name) values (1, 'orders', 'files');
  insert into rowpost.file (storagekey, tenantid, target, key, filenum, filename, mimetype, size, sha256, objectkey, roleid)
    values (gen_random_uuid(), 1, 'orders', '{"order_id": 1}', 1, 'a.txt', 'text/plain', 9007199254740993, '\\x00ff', '1/0a/0a000000-0000-4000-8000-000000000000', 2);
  insert into rowpost.ended_session (token_hash, tenantid, expires) values ('\\x02', 1, '2100-01-01');
  insert into rowpost.sign_in_event (tenantid, slot, kind, roleid) values (1, now(), 'signed_in', 80);
  insert into rowpost.api_key (tenantid, roleid, name, key_hash, hint, state_ms) values (1, 80, 'k', sha256('key'), 'rowpost_1_80_…', 0);
  insert into rowpost.audit_event (tenantid, roleid, object, operation, changes) values (1, 80, 'role', 'update', '[{"column": "name", "before": 1.50, "after": "é"}]');
  insert into rowpost.session (tenantid, roleid, confid, browser, address, state_ms, expires) values (1, 80, 1, 'Firefox', '192.0.2.1', 0, '2100-01-01');
  insert into rowpost.idempotency_key (tenantid, roleid, key, request_hash, response) values (1, 2, 'k', '\\x01', '{}');
`;

if (HAS_PG_DUMP) {
  describe('a tenant that moves to another installation', () => {
    let recipes: Recipes;
    let fleet: Fleet;
    let there: TestDatabase;
    /** As the recipes name them. Both installations call their key the same. */
    let env: Readonly<Record<string, string>>;
    const file = (name: string): string => path.join(recipes.folder, name);
    const run = async (...names: readonly string[]): Promise<string> => {
      const { code, output } = await recipes.run(names, env);
      expect(code, output).to.equal(0);
      return output;
    };
    const runThere = (...args: readonly string[]) =>
      runRowpost(args, {
        ...env,
        DATABASE_URL: there.url,
        SOURCE_SECRET_KEYS: env['SECRET_KEYS']!,
        SECRET_KEYS: env['NEW_SECRET_KEYS']!,
        MAIL_TRANSPORT: 'mailbox', // the carrier of the tests does not respond to the doctor
      });

    before(async () => {
      recipes = await openRecipes('docs/how-to/backup.md');
      fleet = await createFleet({ postgres: 15, redisUrl: undefined, settings: { SECRET_KEYS: newKey() } });
      there = await createTestDatabase({ postgres: 15 });
      env = {
        ...fleet.env,
        TENANT: '1',
        NEW_DATABASE_URL: there.url,
        NEW_SECRET_KEYS: newKey(),
      };
      await fleet.start('web');
      await setUpConfirmations(fleet);
      await fleet.request(
        '/roles_pbac',
        `mutation { Utility { set_email_webhook(input: {kind: mailgun, secret: "0123456789abcdef0123456789abcdef"}) { kind } } }`,
      );
      await runRowpost(
        ['tenant', 'capture', '--tenant', '1', '--table', 'orders', '--writers', 'all'],
        fleet.env,
      );
      const keys = KeyRing.parse(env['SECRET_KEYS']!);
      await fleet.testDatabase.database.pool.query(
        MORE_ROWS.replace(
          /SECRET (\S+:\S+?)'/g,
          (_, context: string) => `${keys.encrypt('theirs', context)}'`,
        ),
      );
      expect((await runThere('release', '--id-range', '1')).code).to.equal(0);
    });
    after(async () => {
      await fleet.stop();
      await there.drop();
      await rm(recipes.folder, { recursive: true });
    });

    it('every table with rows of tenants moves or stays', async () => {
      const { rows } = await there.database.pool.query<{ name: string }>(
        `select distinct c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
         where c.relnamespace = 'rowpost'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
           and a.attname = 'tenantid' order by 1`,
      );
      const known = [...MOVING_TABLES.map(({ table }) => table), ...STAYING_TABLES];
      expect(rows.map(({ name }) => name)).to.deep.equal([...known].sort());
    });

    it('is suspended: nobody may use it, but its email is still sent', async () => {
      const { baseUrl, token } = fleet.web();
      const ask = async (
        where: string,
        body: object,
        headers = {},
      ): Promise<[number, string | undefined]> => {
        const response = await fetch(`${baseUrl}${where}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        });
        const text = await response.text();
        return [response.status, /"code":"(\w+)"/.exec(text)?.[1]];
      };
      await fleet.request('/query', createOrder(1));
      expect(await run('suspend')).to.equal('{"tenantid":1,"suspended":true}\n');

      const query = { query: '{ orders { order_id } }' };
      const authorization = { authorization: `Bearer ${token}` };
      const suspended = [403, 'TENANT_SUSPENDED'];
      await waitFor('the tenant to be closed', async () => {
        return (await ask('/query', query, authorization))[1] === 'TENANT_SUSPENDED';
      });
      expect(await ask('/query', query, authorization)).to.deep.equal(suspended);
      expect(await ask('/roles_pbac', { query: '{ role { roleid } }' }, authorization)).to.deep.equal(
        suspended,
      );
      const login = { login: 'root', password: 'root-password', tenantid: 1 };
      expect(await ask('/auth', login)).to.deep.equal(suspended);
      expect(await ask('/auth', { ...login, password: 'wrong' })).to.deep.equal([401, 'LOGIN_FAILED']);

      await fleet.start('relay');
      await fleet.start('worker');
      await waitFor('the email of order 1', () => emailsPerOrder(fleet).has(1));
      await waitFor('nothing to be open', async () => (await run('open')) === '0\n');
    });

    it('is imported completely, and served', async () => {
      const settings = await readSettings(fleet.testDatabase);
      expect(Object.values(settings).filter((rows) => rows.length === 0)).to.deep.equal([]);
      await run('export');
      expect(await run('import')).to.equal(
        ['{"tenantid":1,"schema":"tenant_1","suspended":true}\n', '{"tenantid":1,"suspended":false}\n'].join(
          '',
        ),
      );
      await fleet.testDatabase.database.pool.query(
        'update rowpost.tenant set suspended = false where tenantid = 1',
      );
      const expected = await readSettings(fleet.testDatabase);
      // The installation's provider has become the tenant's own.
      expected['oidc_providers'] = expected['oidc_providers']!.map((row) =>
        row.replace('"tenantid": 0', '"tenantid": 1'),
      );
      expect(await readSettings(there)).to.deep.equal(expected);

      await fleet.moveTo(there.url);
      const settingsThere = { SECRET_KEYS: env['NEW_SECRET_KEYS']! };
      await fleet.start('web', settingsThere);
      await fleet.start('relay', settingsThere);
      await fleet.start('worker', settingsThere);
      await fleet.request('/query', createOrder(2));
      await waitFor('the email of order 2', () => emailsPerOrder(fleet).has(2));
      expect([...emailsPerOrder(fleet)].sort()).to.deep.equal([
        [1, 1],
        [2, 1],
      ]);
      await there.database.pool.query('insert into tenant_1.orders (order_id, customer_id) values (3, 1)');
      await waitFor('the email of order 3', () => emailsPerOrder(fleet).has(3));
      const doctor = await runThere('doctor');
      expect(doctor.stdout)
        .to.match(/^✓ secrets /m)
        .and.to.match(/^✓ roles /m);
    });

    it("keeps its ids, and new ones stay in each installation's range", async () => {
      const create = ['tenant', 'create', '--root-login', 'root', '--root-password', 'root-password'];
      const made = await runThere(...create, '--name', 'another');
      expect(JSON.parse(made.stdout)).to.include({ tenantid: 10_000_001, root_roleid: 10_000_001 });
      const here = await runRowpost([...create, '--name', 'another'], env);
      expect(JSON.parse(here.stdout)).to.include({ tenantid: 2, root_roleid: 91 });
    });

    describe('refusals', () => {
      let whole: string;
      let lines: readonly string[];
      before(async () => {
        whole = await readFile(file('tenant.jsonl'), 'utf8');
        lines = whole.trimEnd().split('\n');
        await inTransaction(there.database.pool, (tx) => deleteTenant(tx, 1));
        await there.database.pool.query('delete from rowpost.file');
      });

      const importing = async (text: string, secretKeys = env['SECRET_KEYS']!, ...flags: string[]) => {
        await writeFile(file('changed.jsonl'), text);
        const args = [
          '--file',
          file('changed.jsonl'),
          '--tables',
          file('tables.dump'),
          '--foreign',
          ...flags,
        ];
        const { code, stderr } = await runRowpost(['tenant', 'import', ...args], {
          ...env,
          DATABASE_URL: there.url,
          SOURCE_SECRET_KEYS: secretKeys,
          SECRET_KEYS: env['NEW_SECRET_KEYS']!,
        });
        expect(code).to.equal(1);
        const { rows } = await there.database.pool.query('select from rowpost.tenant where tenantid = 1');
        expect(rows, 'tenants stored').to.have.length(0);
        const left = await there.database.pool.query(`select from pg_namespace where nspname = 'tenant_1'`);
        expect(left.rowCount, 'schemas left').to.equal(0);
        return stderr;
      };

      /** As the other installation would sign it. */
      const signed = async (
        changed: readonly string[],
        secretKeys = env['SECRET_KEYS']!,
      ): Promise<string> => {
        const [header = '', ...rest] = changed;
        const { tables, triggers } = JSON.parse(lines.at(-2)!) as { tables: string; triggers: string[] };
        const written: string[] = [];
        const writer = new ExportWriter((line) => Promise.resolve(void written.push(line)));
        await writer.header(JSON.parse(header) as Header);
        for (const line of rest) {
          const [, table, row] = /^{"table":"(\w+)","row":(.*)}$/s.exec(line)!;
          await writer.row(table!, row!);
        }
        await writer.end(KeyRing.parse(secretKeys), { tables, triggers });
        return `${written.join('\n')}\n`;
      };

      it('of a truncated export', async () => {
        expect(await importing(lines.slice(0, -1).join('\n'))).to.contain('the export is incomplete');
        expect(await importing(whole.slice(0, whole.length / 2))).to.contain('an incomplete one');
        const one = lines.findIndex((line) => line.includes('"email_unsubscribe"'));
        expect(await importing(lines.toSpliced(one, 1).join('\n'))).to.contain('the export is incomplete');
      });

      it('of files that are not exports', async () => {
        expect(await importing('{"hello": 1}')).to.contain('this is not an export of a tenant');
        expect(await importing('')).to.contain('incomplete');
      });

      it('of an export that was changed, or whose archive is another one', async () => {
        expect(await importing(whole.replace('"name":"', '"name":"x'))).to.contain('the export was changed');
        await writeFile(file('other.dump'), 'no archive');
        expect(await importing(whole, undefined, '--tables', file('other.dump'))).to.contain(
          'is not the archive',
        );
      });

      it('of another installation, without the flag', async () => {
        const args = ['--file', file('tenant.jsonl'), '--tables', file('tables.dump')];
        const { code, stderr } = await runThere('tenant', 'import', ...args);
        expect([code, stderr]).to.satisfy(
          ([status, text]: [number, string]) => status === 1 && text.includes('--foreign'),
        );
      });

      it('of rows of another tenant, or of tables that do not move', async () => {
        const [header = '', ...rows] = lines.slice(0, -2);
        const foreign = rows.map((line) =>
          line.startsWith('{"table":"role"') ? line.replace('"tenantid":1', '"tenantid":0') : line,
        );
        expect(await importing(await signed([header, ...foreign]))).to.contain(
          'a row of another tenant in role',
        );
        const outbox = rows.map((line) => line.replace('{"table":"policy_rule"', '{"table":"outbox"'));
        expect(await importing(await signed([header, ...outbox]))).to.contain(
          `can't contain rows of "outbox"`,
        );
      });

      it('of another release', async () => {
        const older = lines
          .slice(0, -2)
          .map((line) => line.replace(/"migration":"[^"]+"/, '"migration":"0000_of_another_release.js"'));
        expect(await importing(await signed(older))).to.contain('bring both to the same release first');
      });

      it('with different keys, naming each secret', async () => {
        const other = newKey();
        expect(await importing(await signed(lines.slice(0, -2), other), other))
          .to.contain(
            'email API key of tenant 1, client secret of oidc_config 1, client key a, mailgun webhook of tenant 1',
          )
          .and.to.contain('SOURCE_SECRET_KEYS');
      });

      it('of ids already in use', async () => {
        await there.database.pool.query(
          `insert into rowpost.role (roleid, tenantid, login) values (80, 0, 'other')`,
        );
        expect(await importing(whole))
          .to.contain('Key (roleid)=(80) already exists')
          .and.to.contain('--id-range');
      });

      it('of an existing file', async () => {
        const { code, stderr } = await runRowpost(
          ['tenant', 'export', '--tenant', '1', '--file', file('tenant.jsonl'), '--tables', file('new.dump')],
          env,
        );
        expect([code, stderr]).to.deep.equal([1, `rowpost: can't write ${file('tenant.jsonl')}: EEXIST\n`]);
        expect(await readFile(file('tenant.jsonl'), 'utf8')).to.equal(whole);
      });
    });
  });
}

function newKey(): string {
  return `k1:${randomBytes(32).toString('base64')}`;
}

function createOrder(id: number): string {
  return `mutation { create_orders(input: {order_id: ${id}, customer_id: 1}) { order_id } }`;
}

/** By table, as JSON; ciphertexts apart. */
async function readSettings({ database }: TestDatabase): Promise<Record<string, readonly string[]>> {
  const settings: Record<string, readonly string[]> = {};
  for (const { table } of MOVING_TABLES) {
    const { rows } = await database.pool.query<{ row: string }>(
      `select (select jsonb_object_agg(key, value) from jsonb_each(to_jsonb(t)) where key not like '%_encrypted')::text as row
       from rowpost.${table} t where tenantid = 1 or '${table}' = 'oidc_providers' order by 1`,
    );
    settings[table] = rows.map(({ row }) => row);
  }
  return settings;
}
