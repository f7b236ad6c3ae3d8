import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { buildSchema, getNamedType, isListType, isObjectType, type GraphQLObjectType } from 'graphql';
import { WebFixture, type GraphqlResult } from '../../api/webFixture.js';

/** The types as they are documented. */
const SCHEMA = buildSchema(readFileSync(new URL('../../control/schema.graphql', import.meta.url), 'utf8'));
const typeOf = (name: string): GraphQLObjectType => SCHEMA.getType(name) as GraphQLObjectType;
const LISTS = Object.values(SCHEMA.getQueryType()?.getFields() ?? {})
  .filter(({ type }) => isListType(type))
  .map(({ name }) => name);

/** Fields of secrets, which always are null. */
const SECRETS: ReadonlySet<string> = new Set(['client_secret']);
/** What is only returned by the mutation that makes it. */
const ONCE: ReadonlySet<string> = new Set(['api_key.key', 'invitation.link']);
const isSecret = (type: string, name: string): boolean => SECRETS.has(name) || ONCE.has(`${type}.${name}`);

/** The fields of a type that hold values, not objects. */
const visible = (type: string): readonly string[] =>
  Object.values(typeOf(type).getFields())
    .filter(({ name, type: field }) => !isSecret(type, name) && !isObjectType(getNamedType(field)))
    .map(({ name }) => name);
const related = (type: string): readonly (readonly [name: string, type: string])[] =>
  Object.values(typeOf(type).getFields()).flatMap((field) => {
    const target = getNamedType(field.type);
    return isObjectType(target) && LISTS.includes(target.name) ? [[field.name, target.name] as const] : [];
  });

/** A column in every text that a list of /roles_pbac, or an aggregate of it, takes. */
function questions(type: string, column: string): readonly string[] {
  const list = (args: string): string => `{ ${type}(${args}) { __typename } }`;
  const text = (value: string): string => JSON.stringify(value);
  const total = (args: string): string => `{ Aggregates { max(${args}) } }`;
  const key = visible(type)[0]!;
  return [
    list(`filter: ${text(`${column} is null`)}`),
    list(`filter: ${text(`${column} is not null or ${key} is null`)}`),
    list(`filter: ${text(`${key} in (${column})`)}`),
    list(`filter: ${text(`length(string(${column})) > 1`)}`),
    list(`filter: ${text(`max(${column}) is not null`)}`),
    list(`filter: ${text(`${type}.${column} is null`)}`),
    list(`ordering: [${text(column)}]`),
    list(`ordering: [${text(key)}, ${text(`${column} desc`)}]`),
    total(`subquery: ${text(`{ ${type} { ${column} } }`)}`),
    total(`subquery: ${text(`{ ${type} { ${key} ${column} } }`)}`),
    total(`subquery: ${text(`{ ${type} { ${key} } }`)}, filter: ${text(`${column} is null`)}`),
    total(`subquery: ${text(`{ ${type} { ${key} } }`)}, ordering: ${text(column)}`),
    total(`subquery: ${text(`{ ${type} { ${key} } }`)}, distincton: ${text(column)}`),
    total(`subquery: ${text(`{ ${type} { ${key} } }`)}, having: ${text(`${column} is null`)}`),
  ];
}

describe('attack: a filter or an ordering asks a control object for what it does not show', () => {
  let fixture: WebFixture;
  let root: string;
  /** Columns of the service's tables with those that PostgreSQL adds, by table. */
  const columns = new Map<string, readonly string[]>();
  let secrets: readonly string[];

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', 'create table note (id int primary key)');
    root = (await fixture.signIn(tenantid)).access_token;
    const { rows } = await fixture.testDatabase.database.pool.query<{ table: string; names: string[] }>(
      `select relname::text as table, array_agg(attname::text) as names
       from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
       where c.relnamespace = 'rowpost'::regnamespace and c.relkind in ('r', 'p', 'v') and not a.attisdropped group by 1`,
    );
    for (const { table, names } of rows) columns.set(table, names);
    const all = [...new Set([...columns.values()].flat())];
    secrets = all.filter((name) => /hash|secret|encrypted|password|token|key/.test(name));
    expect(secrets).to.include.members(['password_hash', 'private_jwk_encrypted']);
  });
  after(() => fixture.stop());

  /** The error without the name that was asked for; undefined for a response. */
  const refusal = ({ errors }: GraphqlResult, column: string): string | undefined =>
    errors &&
    JSON.stringify(errors.map(({ message, extensions }) => [message, extensions])).replaceAll(column, '·');

  const hidden = (type: string, shown: readonly string[]): readonly string[] => {
    const own = columns.get(type) ?? [...columns.values()].flat();
    return [...new Set([...own, ...secrets, ...SECRETS])].filter((column) => !shown.includes(column));
  };

  for (const type of LISTS) {
    it(`${type}: other columns are as unknown as one that there is nowhere`, async function () {
      const shown = Object.keys(typeOf(type).getFields()).filter((name) => !isSecret(type, name));
      for (const column of [...hidden(type, shown), '__proto__', 'constructor']) {
        for (const question of questions(type, column)) {
          expect(refusal(await fixture.control(root, question), column), question).to.be.a('string');
        }
      }
    });

    it(`${type}: relations lead to no other columns`, async function () {
      for (const [relation, target] of related(type)) {
        const shown = visible(target);
        for (const column of hidden(target, shown)) {
          for (const text of [`${relation}.${column} is null`, `exists(${relation}, ${column} is null)`]) {
            const question = `{ ${type}(filter: ${JSON.stringify(text)}) { __typename } }`;
            expect(refusal(await fixture.control(root, question), column), question).to.be.a('string');
          }
        }
      }
    });

    it(`${type}: its own fields can be asked`, async () => {
      for (const column of visible(type)) {
        const [question] = questions(type, column);
        expect(refusal(await fixture.control(root, question!), column), question).to.equal(undefined);
      }
    });
  }
});
