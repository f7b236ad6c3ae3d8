import type { Catalog, Column, Relation, Table } from '../db/catalog/catalog.js';
import { columnType } from '../db/catalog/types.js';

const OF_DELIVERY = { tenantid: 'tenantid', deliveryid: 'deliveryid', createtime: 'createtime' };

/** The control tables as the list compiler sees them: what is not here can't be read, filtered by or ordered by. */
export const CONTROL_CATALOG: Catalog = {
  version: 'control',
  schema: 'rowpost',
  problems: [],
  tables: new Map(
    [
      table('tenant', 'tenantid int4, name text, schema text, root_roleid int4, createtime timestamptz'),
      table(
        'role',
        `roleid int4, tenantid int4, login text, name text, parentid int4, capabilities text[], deleted bool,
         creatorid int4, createtime timestamptz, password_createtime timestamptz, password_setby int4`,
        [
          toOne('parent', 'role', { parentid: 'roleid' }),
          toOne('tenant', 'tenant', { tenantid: 'tenantid' }),
          toMany('children', 'role', { roleid: 'parentid' }),
          ofClasses('classes', 'role_class', { roleid: 'roleid' }, { classid: 'classid' }),
        ],
      ),
      table('capability', 'capability text, package text, subset text, description text'),
      table(
        'role_class',
        'classid int4, name text, tenantid int4, inherit text, allow_signup bool, creatorid int4, createtime timestamptz',
        [ofClasses('members', 'role', { tenantid: 'tenantid', classid: 'classid' }, { memberid: 'roleid' })],
      ),
      table('role_class_member', 'roleid int4, tenantid int4, parentid int4, classid int4, memberid int4'),
      table(
        'oidc_providers',
        `providerid int4, name text, auth_uri text, token_uri text, jwks_uri text, comparison_field text, issuer text,
         email_always_verified bool, tenantid int4, creatorid int4, createtime timestamptz`,
      ),
      table(
        'oidc_config',
        'confid int4, providerid int4, client_id text, client_secret_uuid uuid, creatorid int4, createtime timestamptz',
      ),
      compositeKey(table('role_oidc', 'roleid int4, confid int4, sub_id text'), 2),
      table(
        'policy_rule',
        `ruleid int4, tenantid int4, name text, capabilities text[], targets text[], roles int4[], classes int4[], filter text,
         creatorid int4, createtime timestamptz`,
      ),
      table(
        'email_types',
        `email_type text, template text, subject text, recipients jsonb, sender text, queries jsonb, options jsonb,
         attachments jsonb, syntax text, creatorid int4, createtime timestamptz`,
      ),
      table(
        'email_rule',
        `ruleid int8, name text, operations text[], targets text[], email_type text, query_roleid int4,
         condition text, enabled bool, delivery text, creatorid int4, createtime timestamptz`,
      ),
      searchedAs(
        'recipients',
        'recipient_texts',
        table(
          'email_delivery',
          `deliveryid int8, ruleid int8, email_type text, operation text, target text, key json, state text,
         attempts int4, recipients text[], subject text, provider_message_id text, error_code text, error text,
         createtime timestamptz, next_attempt timestamptz, sent_time timestamptz`,
          [
            toMany('email_attempt_collection', 'email_attempt', OF_DELIVERY),
            toMany('email_event_collection', 'email_event', OF_DELIVERY),
          ],
        ),
      ),
      compositeKey(
        table(
          'email_event',
          `time timestamptz, provider_event_id text, event text, recipient text, reason text, status text, type text,
           url text`,
          [],
          'number',
        ),
        2,
      ),
      table(
        'email_suppression',
        'address text, reason text, source text, deliveryid int8, creatorid int4, createtime timestamptz',
      ),
      table(
        'email_attempt',
        'attempt int4, started timestamptz, finished timestamptz, outcome text, http_status int4, error text',
        [],
        'number',
      ),
    ].map((item) => [item.name, item]),
  ),
};

/** @param columns `name type, …`; the first one is the key, shown as an ID unless `key` says that it is a number. */
function table(
  name: string,
  columns: string,
  relations: readonly Relation[] = [],
  key: 'id' | 'number' = 'id',
): Table {
  const list = columns.split(',').map((text, index) => column(text.trim(), index === 0 && key === 'id'));
  return {
    name,
    schema: 'rowpost',
    sqlName: name,
    kind: 'table',
    columns: new Map(list.map((item) => [item.name, item])),
    primaryKey: list.slice(0, 1),
    relations: new Map(relations.map((relation) => [relation.field, relation])),
  };
}

/** Filters look at a function of the column: see `Column.searchedAs`. */
function searchedAs(name: string, by: string, of: Table): Table {
  const columns = [...of.columns.values()].map((item) =>
    item.name === name ? { ...item, searchedAs: by } : item,
  );
  return { ...of, columns: new Map(columns.map((item) => [item.name, item])) };
}

/** The first columns are the key together. */
function compositeKey(of: Table, size: number): Table {
  const keyed = [...of.columns.values()].map((item, index) =>
    index < size ? { ...item, inPrimaryKey: true, nullable: false } : item,
  );
  return {
    ...of,
    columns: new Map(keyed.map((item) => [item.name, item])),
    primaryKey: keyed.slice(0, size),
  };
}

function column(text: string, inPrimaryKey: boolean): Column {
  const [name = '', type = ''] = text.split(' ');
  const array = type.endsWith('[]');
  const sqlType = array ? type.slice(0, -2) : type;
  return {
    name,
    sqlName: name,
    type: columnType({ name: sqlType, sqlType, typtype: 'b', array, enumLabels: null }),
    nullable: !inPrimaryKey,
    hasDefault: false,
    generated: false,
    inPrimaryKey,
    inForeignKey: false,
    // Conditions on them cost no more than those that keep tenants apart, which are tried first.
    indexed: true,
  };
}

type Pairs = Readonly<Record<string, string>>;

function toOne(field: string, target: string, pairs: Pairs): Relation {
  return { kind: 'to-one', field, target, pairs: columnPairs(pairs) };
}

function toMany(field: string, target: string, pairs: Pairs): Relation {
  return { kind: 'to-many', field, target, pairs: columnPairs(pairs) };
}

/** Between roles and classes. */
function ofClasses(field: string, target: string, near: Pairs, far: Pairs): Relation {
  const through = 'role_class_member';
  return {
    kind: 'many-to-many',
    field,
    target,
    through,
    nearPairs: columnPairs(near),
    farPairs: columnPairs(far),
  };
}

function columnPairs(pairs: Pairs): { here: string; there: string }[] {
  return Object.entries(pairs).map(([here, there]) => ({ here, there }));
}
