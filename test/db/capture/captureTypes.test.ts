import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { recordsForTemplates } from '../../../src/email/templateRecords.js';
import { parseJson, writeJson } from '../../../src/foundation/json/losslessJson.js';
import { openCaptureFixture, type CapturedEvent, type CaptureFixture } from './captureFixture.js';
import { EXTENSIONS, OWN_TYPES, readTypes, type TypeTexts } from './everyType.js';

const TYPES_PER_TABLE = 30;
const VECTORS: ReadonlySet<string> = new Set(['int2vector', 'oidvector', 'int2vector[]', 'oidvector[]']);

interface Group {
  readonly table: string;
  readonly types: readonly TypeTexts[];
  /** The most texts that one of them takes. */
  readonly rows: number;
}

describe('captured values of every type', () => {
  let fixture: CaptureFixture;
  let groups: readonly Group[];

  before(async () => {
    fixture = await openCaptureFixture('', []);
    const { shop, writer } = fixture;
    for (const extension of EXTENSIONS) {
      await shop.test.database.pool.query(`create extension ${extension} schema public`);
    }
    await shop.sql(OWN_TYPES);
    const types = await readTypes(writer, false);
    groups = Array.from({ length: Math.ceil(types.length / TYPES_PER_TABLE) }, (_, index) => {
      const part = types.slice(index * TYPES_PER_TABLE, (index + 1) * TYPES_PER_TABLE);
      return { table: `t${index}`, types: part, rows: Math.max(...part.map(({ texts }) => texts.length)) };
    });
    for (const { table, types: part } of groups) {
      const columns = part.map(({ type }, index) => `c${index} ${type}`).join(', ');
      await shop.sql(
        `create table ${table} (id int primary key, ${columns}); create table twin_${table} (id int primary key, ${columns})`,
      );
      await fixture.capture(table, 'all');
    }
  });
  after(() => fixture.close());
  beforeEach(() => fixture.events());

  const values = ({ types }: Group, row: number): string =>
    types
      .map(({ type, texts }) => (texts[row] === undefined ? 'null' : `${literal(texts[row])}::${type}`))
      .join(', ');
  const literal = (text: string): string => ` E'${text.replace(/[\\']/g, '\\$&')}'`;

  /** The values of the table as the API reads them, by id. */
  const read = async ({ table, types }: Group): Promise<readonly Record<string, unknown>[]> => {
    const columns = types.map((_, index) => `c${index}`).join(' ');
    const { body } = await fixture.shop.ask(`{ ${table}(ordering: "id", limit: 1000) { ${columns} } }`);
    const { data } = parseJson(body) as { data?: Record<string, Record<string, unknown>[]> };
    if (!data?.[table]) throw new Error(body.slice(0, 1000));
    return data[table];
  };
  const expectRead = async (group: Group, records: readonly (string | null)[]): Promise<number> => {
    const rows = await read(group);
    expect(records).to.have.length(rows.length);
    const differences = records.flatMap((record, row) => {
      const recorded = parseJson(record ?? 'null') as Record<string, unknown>;
      return group.types.flatMap(({ type }, index) => {
        const pair = [asRead(type, recorded[`c${index}`]), rows[row]?.[`c${index}`]].map((value) =>
          writeJson(value),
        );
        return VECTORS.has(type) || pair[0] === pair[1] ? [] : [`${type}: ${pair.join(' ')}`];
      });
    });
    expect(differences).to.deep.equal([]);
    return rows.length * group.types.length;
  };

  it('are written, and are what the API reads', async () => {
    const { writer } = fixture;
    let compared = 0;
    for (const group of groups) {
      const { table, types, rows } = group;
      for (let row = 0; row <= rows; row++) {
        await writer.query(`insert into twin_${table} values (${row}, ${values(group, row)})`);
        await writer
          .query(`insert into ${table} values (${row}, ${values(group, row)})`)
          .catch((error: unknown) => {
            throw new Error(
              `${(error as Error).message}: ${types.map(({ type, texts }) => `${type} ${texts[row]?.slice(0, 50)}`).join('; ')}`,
            );
          });
      }
      const events = await fixture.events();
      expect(events.map(({ key }) => key)).to.deep.equal(events.map((_, row) => `{"id" : ${row}}`));
      compared += await expectRead(
        group,
        events.map((event) => event.new),
      );
    }
    expect(compared).to.be.greaterThan(15_000);
  });

  /** By key, whatever order a statement reads rows in. */
  const nextEvents = async (): Promise<readonly CapturedEvent[]> => {
    const id = ({ key }: CapturedEvent): number => (JSON.parse(key) as { id: number }).id;
    return [...(await fixture.events())].sort((one, other) => id(one) - id(other));
  };

  it('are the same however they are written, changed and deleted', async () => {
    const { writer } = fixture;
    for (const group of groups) {
      const { table } = group;
      await writer.query(`delete from ${table}`);
      const first = (await nextEvents()).map((event) => event.old);
      await writer.query(
        `begin isolation level serializable; set local standard_conforming_strings = off; insert into ${table} select * from twin_${table} order by id; commit`,
      );
      const again = await nextEvents();
      expect(again.map((event) => event.new)).to.deep.equal(first);
      await writer.query(`update ${table} set id = id + 1000`);
      const changed = await nextEvents();
      expect(changed.map((event) => event.old)).to.deep.equal(first);
      await expectRead(
        group,
        changed.map((event) => event.new),
      );
      await writer.query(`truncate ${table}`);
      if (!hasPsql) continue;
      await fixture.events();
      copy(`twin_${table}`, table);
      expect((await nextEvents()).map((event) => event.new)).to.deep.equal(first);
    }
  });

  it('are in templates what they are in the results of queries', async () => {
    const { shop, writer } = fixture;
    const { engine, root, tenant } = shop;
    const principals = { load: () => Promise.resolve(root) };
    let compared = 0;
    for (const { table, types } of groups) {
      await writer.query(`delete from ${table}`);
      await fixture.events();
      await writer.query(`insert into ${table} select * from twin_${table} order by id`);
      const columns = types.map((_, index) => `c${index}`);
      const { json } = await engine.runEmailQuery(root, {
        query: `{ ${table}(ordering: "id", limit: 1000) { ${columns.join(' ')} } }`,
      });
      const rows = parseJson(json) as Record<string, unknown>[];
      for (const [row, event] of (await nextEvents()).entries()) {
        const trigger = { ...event, eventid: '1', queryRoleid: root.roleid, tenantid: tenant.tenantid };
        const records = await recordsForTemplates({ engine, principals }, trigger);
        const record = parseJson(records.new!) as Record<string, unknown>;
        const differences = types.flatMap(({ type }, index) => {
          const [inRecord, inResult] = [record, rows[row]!].map((values) => writeJson(values[`c${index}`]));
          // In records, an oid is a string and a vector a list, and lists of lists of bytes are not one list.
          const isLikewise = VECTORS.has(type) || type === 'bytea[]' || inRecord === `"${inResult}"`;
          return isLikewise || inRecord === inResult ? [] : [`${type}: ${inRecord} ${inResult}`];
        });
        expect(differences).to.deep.equal([]);
        compared += types.length;
      }
    }
    expect(compared).to.be.greaterThan(15_000);
  });

  const copy = (from: string, to: string): void => {
    const { shop } = fixture;
    const psql = (command: string, input: string | Buffer): Buffer => {
      const run = spawnSync('psql', ['-qX', '-d', shop.test.url, '-c', command], {
        input,
        maxBuffer: 2 ** 30,
      });
      expect(run.status, run.stderr.toString()).to.equal(0);
      return run.stdout;
    };
    const { schema } = shop.tenant;
    psql(
      `\\copy ${schema}.${to} from stdin`,
      psql(`\\copy (select * from ${schema}.${from} order by id) to stdout`, ''),
    );
  };
});

/** Debian's package `postgresql-client` brings it. */
const hasPsql = spawnSync('psql', ['--version']).status === 0;

/** As the API shows it: events have bytes as PostgreSQL does, an oid as a string, and vectors and lists of them as lists. */
function asRead(type: string, value: unknown): unknown {
  if (value === null) return value;
  if (type === 'bytea[]') return (value as unknown[]).flat().map((item) => asRead('bytea', item));
  if (type === 'bytea') return Buffer.from((value as string).slice(2), 'hex').toString('base64');
  return type === 'oid' || type === 'public.lo' ? Number(value) : value;
}
