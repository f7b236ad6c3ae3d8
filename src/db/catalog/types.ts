import { identifier, join, sql, textConstant, typeName, type Sql } from '../sql/sql.js';
import type { Column, ColumnType, CompositeFields, TypeKind } from './catalog.js';

/** The scalar types of the GraphQL schema. */
export type ScalarName =
  | 'Int'
  | 'BigInt'
  | 'Float'
  | 'Decimal'
  | 'Boolean'
  | 'String'
  | 'UUID'
  | 'Date'
  | 'Time'
  | 'DateTime'
  | 'Base64'
  | 'GenericScalar';

/**
 * How a value becomes JSON text. `plain`: its text is JSON already (numbers, booleans, json). `quoted`: its text needs
 * quotes but no escaping. `toJson`: PostgreSQL's to_json (escapes strings; ISO 8601 times; NaN as a string). `asText`: the
 * type's text form as a JSON string. `base64`: bytes.
 */
type JsonForm = 'plain' | 'quoted' | 'toJson' | 'asText' | 'base64';

interface TypeRow {
  readonly kind: TypeKind;
  readonly scalar: ScalarName;
  readonly json: JsonForm;
}

const row = (kind: TypeKind, scalar: ScalarName, json: JsonForm): TypeRow => ({ kind, scalar, json });

/** Every common PostgreSQL type, by its name in pg_type. Domains are looked up by their base type, arrays by their element. */
const TYPES: ReadonlyMap<string, TypeRow> = new Map(
  Object.entries({
    int2: row('integer', 'Int', 'plain'),
    int4: row('integer', 'Int', 'plain'),
    oid: row('bigint', 'BigInt', 'plain'),
    int8: row('bigint', 'BigInt', 'plain'),
    float4: row('float', 'Float', 'toJson'),
    float8: row('float', 'Float', 'toJson'),
    numeric: row('numeric', 'Decimal', 'toJson'),
    money: row('other', 'String', 'asText'),
    bool: row('boolean', 'Boolean', 'plain'),
    text: row('text', 'String', 'toJson'),
    varchar: row('text', 'String', 'toJson'),
    bpchar: row('text', 'String', 'toJson'),
    char: row('text', 'String', 'asText'),
    name: row('text', 'String', 'asText'),
    citext: row('text', 'String', 'asText'),
    xml: row('other', 'String', 'asText'),
    uuid: row('uuid', 'UUID', 'quoted'),
    date: row('date', 'Date', 'toJson'),
    time: row('time', 'Time', 'toJson'),
    timetz: row('time', 'Time', 'toJson'),
    timestamp: row('timestamp', 'DateTime', 'toJson'),
    timestamptz: row('timestamptz', 'DateTime', 'toJson'),
    interval: row('interval', 'String', 'asText'),
    // Its cast to text adds /32 to single addresses.
    inet: row('other', 'String', 'toJson'),
    json: row('json', 'GenericScalar', 'plain'),
    jsonb: row('json', 'GenericScalar', 'plain'),
    bytea: row('bytea', 'Base64', 'base64'),
  }),
);
const ENUM = row('enum', 'String', 'asText');
const COMPOSITE = row('other', 'GenericScalar', 'toJson');
/** Network addresses, ranges, geometry, bit strings, full-text values, extension types: rendered in their text form. */
const OTHER = row('other', 'String', 'asText');

/** A column's type according to pg_type: the element type for arrays, the base type for domains. */
export interface RawType {
  readonly name: string;
  /** As SQL writes it in a cast. */
  readonly sqlType: string;
  readonly typtype: string;
  readonly array: boolean;
  /** Whether the array's items are of a domain. */
  readonly ofDomain?: boolean;
  /** The name of the column's domain, or of that of its items. */
  readonly domain?: string | null;
  /** As declared; 0 if PostgreSQL does not know, as for views. */
  readonly dimensions?: number;
  /** pg_attribute.atttypmod */
  readonly modifier?: number;
  readonly enumLabels: readonly string[] | null;
  /** The schema of its `=`, if that is not pg_catalog. */
  readonly operators?: string | null;
  readonly castsToJson?: boolean;
}

/**
 * @param fieldsOf of a row type, if anybody asks for them
 * @param isZoned whether the tenant's sessions have another time zone than UTC
 */
export function columnType(
  raw: RawType,
  fieldsOf: (sqlType: string) => CompositeFields | undefined = () => undefined,
  isZoned = false,
): ColumnType {
  const fields = raw.typtype === 'c' ? fieldsOf(raw.sqlType) : undefined;
  return {
    sqlType: raw.sqlType,
    kind: lookUp(raw.sqlType, raw.typtype).kind,
    array: raw.array,
    ...(raw.ofDomain ? { ofDomain: true } : {}),
    ...(raw.domain == null ? {} : { domain: raw.domain }),
    ...(raw.array && (raw.dimensions ?? 0) > 1 && raw.name !== 'bytea' ? { dimensions: raw.dimensions } : {}),
    ...boundsOf(raw),
    ...(raw.operators == null ? {} : { operators: raw.operators }),
    ...(raw.enumLabels === null ? {} : { enumLabels: new Set(raw.enumLabels) }),
    ...(raw.castsToJson === true ? { castsToJson: true } : {}),
    ...(isZoned && mayShowZone(raw) ? { zoned: true } : {}),
    ...(raw.typtype === 'c' ? { composite: true } : {}),
    ...(fields ? { fields } : {}),
    ...([...(fields?.values() ?? [])].some(({ kind, holdsNumeric }) => kind === 'numeric' || holdsNumeric)
      ? { holdsNumeric: true }
      : {}),
  };
}

const ZONED_TYPES = new Set(['timestamptz', 'tstzrange', 'tstzmultirange']);

/** Of PostgreSQL's own types these alone; a type of somebody may contain one. */
function mayShowZone({ sqlType, typtype }: RawType): boolean {
  return ZONED_TYPES.has(sqlType) || (typtype !== 'e' && sqlType.includes('.'));
}

/** Decodes a type modifier, which includes the value's four-byte header, but for bits. */
function boundsOf({ name, modifier = -1 }: RawType): Pick<ColumnType, 'bounds'> {
  if (modifier > 0 && name === 'bit') return { bounds: { bits: modifier } };
  if (modifier > 0 && name === 'varbit') return { bounds: { maxBits: modifier } };
  if (modifier < 4) return {};
  if (name === 'varchar' || name === 'bpchar') return { bounds: { length: modifier - 4 } };
  if (name !== 'numeric') return {};
  // The scale is a signed 11-bit number.
  return { bounds: { precision: (modifier - 4) >> 16, scale: (((modifier - 4) & 0x7ff) ^ 1024) - 1024 } };
}

/** PostgreSQL has no `=` between lists of a domain and lists of its base type, nor for enums with a domain. */
export function isComparedAsBase({ kind, array, domain, ofDomain }: ColumnType): boolean {
  return ofDomain === true || (kind === 'enum' && !array && domain !== undefined);
}

/** The type with its brackets, for casts of whole values. */
export function fullSqlType(type: ColumnType): string {
  return type.array ? `${type.sqlType}[]` : type.sqlType;
}

/** The type with its bounds, to which PostgreSQL rounds and pads values. */
function declaredType({ sqlType, bounds: { precision, scale = 0, length } = {}, array }: ColumnType): string {
  const bounds = precision === undefined ? (length ?? '') : `${precision}, ${scale}`;
  return `${sqlType}${bounds === '' ? '' : `(${bounds})`}${array ? '[]' : ''}`;
}

/**
 * A FROM item `alias` with these columns, from a JSON object by SQL names. The table's own type would not do: a domain of
 * another column may refuse null.
 */
export function recordOf(columns: readonly Column[], json: Sql, alias: Sql): Sql {
  const names = columns.map(
    ({ sqlName, type }) => sql`${identifier(sqlName)} ${typeName(declaredType(type))}`,
  );
  return sql`pg_catalog.json_to_record(${json}) as ${alias}(${join(names)})`;
}

export function scalarOf(type: ColumnType): ScalarName {
  return rowOf(type).scalar;
}

/** SQL for the JSON text of a column's value, never null. `value` is the column as SQL. Primary keys become strings. */
export function jsonText(column: Column, value: Sql): Sql {
  const text = column.inPrimaryKey ? keyText(column.type, value) : valueText(column.type, value);
  return column.nullable ? sql`coalesce(${text}, 'null')` : text;
}

/** The same for a template's context, where the exponent `E0` marks each `numeric` as a Decimal. */
export function templateJson(column: Column, value: Sql): Sql {
  if (column.inPrimaryKey) return jsonText(column, value);
  const text = markedText(column.type, value, { fields: 0 });
  return column.nullable ? sql`coalesce(${text}, 'null')` : text;
}

/** Row types within row types are written out as often as they occur. */
const MAX_WRITTEN_FIELDS = 300;

function markedText(type: ColumnType, value: Sql, written: { fields: number }): Sql {
  const { kind, array, dimensions = 1 } = type;
  const fields = type.holdsNumeric === true ? type.fields : undefined;
  if (kind === 'numeric')
    return sql`pg_catalog.regexp_replace(${valueText(type, value)}, '([0-9])(?=[],]|$)', '\\1E0', 'g')`;
  written.fields += fields?.size ?? 0;
  if (!fields || dimensions > 1 || written.fields > MAX_WRITTEN_FIELDS) return valueText(type, value);
  if (array) {
    // The expression of an item contains that of the list it is in.
    const index = identifier(`i${written.fields}`);
    const item = markedText({ ...type, array: false }, sql`(${value})[${index}]`, written);
    return sql`case when ${value} is not null then '[' operator(pg_catalog.||) coalesce((select pg_catalog.string_agg(coalesce(${item}, 'null'), ',' order by ${index})
      from pg_catalog.generate_subscripts(${value}, 1) ${index}), '') operator(pg_catalog.||) ']' end`;
  }
  const members = [...fields].map(([name, inner], index) => {
    const text = markedText(inner, sql`(${value}).${identifier(name)}`, written);
    return sql`${textConstant(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)} operator(pg_catalog.||) coalesce(${text}, 'null')`;
  });
  return sql`case when ${value} is distinct from null then ${join(members, ' operator(pg_catalog.||) ')} operator(pg_catalog.||) '}' end`;
}

/** The value's text form as a JSON string, for `cast: text`. */
export function jsonString(value: Sql): Sql {
  return sql`coalesce(${textAsJson(value)}, 'null')`;
}

function textAsJson(value: Sql): Sql {
  return sql`pg_catalog.to_json(${value}::pg_catalog.text)::pg_catalog.text`;
}

function inUtc(value: Sql, form: 'value' | 'text' | 'texts'): Sql {
  return sql`rowpost_tenant.in_utc(${value}, ${textConstant(form)})`;
}

/** The value, or its JSON, as functions that build JSON take it: never by the cast that its type may bring. */
export function jsonMember({ zoned, castsToJson, array }: ColumnType, value: Sql): Sql {
  if (zoned === true) return inUtc(value, castsToJson !== true ? 'value' : array ? 'texts' : 'text');
  if (castsToJson !== true) return value;
  return array ? sql`${value}::pg_catalog.text[]` : sql`${value}::pg_catalog.text`;
}

/** A time of the service's own as JSON text, in UTC as in all sessions. */
export function ownTimeJson(value: Sql): Sql {
  const time = sql`pg_catalog.to_json(pg_catalog.timezone('UTC', ${value}))::pg_catalog.text`;
  return sql`pg_catalog.regexp_replace(${time}, '"$', '+00:00"')`;
}

/** Arrays and composite values as PostgreSQL's text: as the key of a mutation, an ID, they can't be given in another form. */
function keyText(type: ColumnType, value: Sql): Sql {
  const { kind } = type;
  const isValue =
    !type.array &&
    type.composite !== true &&
    (kind === 'bytea' || (rowOf(type).json === 'toJson' && kind !== 'numeric' && kind !== 'float'));
  if (isValue) return valueText(type, value);
  if (type.zoned === true) return sql`${inUtc(value, 'text')}::pg_catalog.text`;
  const safe = !type.array && ['integer', 'bigint', 'uuid'].includes(kind);
  return safe
    ? sql`'"' operator(pg_catalog.||) ${textOfType(type, value)} operator(pg_catalog.||) '"'`
    : textAsJson(value);
}

/**
 * The text of a value that becomes a part of the JSON as it is. If its column has become a text since the catalog was read,
 * the statement fails, which has the catalog read again: the types of a COALESCE have to match.
 */
function textOfType({ sqlType }: ColumnType, value: Sql): Sql {
  return sql`coalesce(${value}, null::${typeName(sqlType)})::pg_catalog.text`;
}

function valueText(type: ColumnType, value: Sql): Sql {
  const form = rowOf(type).json;
  if (type.zoned === true) {
    return sql`${inUtc(value, form !== 'asText' ? 'value' : type.array ? 'texts' : 'text')}::pg_catalog.text`;
  }
  if (type.array) {
    // An extension's type may have a cast to json, which to_json would use: hstore has.
    if (form === 'asText') return sql`pg_catalog.to_json(${value}::pg_catalog.text[])::pg_catalog.text`;
    if (form !== 'base64') return sql`pg_catalog.to_json(${value})::pg_catalog.text`;
    const items = sql`(select pg_catalog.json_agg(pg_catalog.translate(pg_catalog.encode(e, 'base64'), E'\\n', ''))::pg_catalog.text from pg_catalog.unnest(${value}) e)`;
    return sql`case when ${value} is not null then coalesce(${items}, '[]') end`;
  }
  switch (form) {
    case 'plain':
      return textOfType(type, value);
    case 'quoted':
      return sql`'"' operator(pg_catalog.||) ${textOfType(type, value)} operator(pg_catalog.||) '"'`;
    case 'toJson':
      return sql`pg_catalog.to_json(${value})::pg_catalog.text`;
    case 'asText':
      return textAsJson(value);
    case 'base64':
      return sql`'"' operator(pg_catalog.||) pg_catalog.translate(pg_catalog.encode(${value}, 'base64'), E'\\n', '') operator(pg_catalog.||) '"'`;
  }
}

function rowOf(type: ColumnType): TypeRow {
  if (type.enumLabels) return ENUM;
  if (type.composite) return COMPOSITE;
  return lookUp(type.sqlType, 'b');
}

function lookUp(sqlType: string, typtype: string): TypeRow {
  if (typtype === 'e') return ENUM;
  if (typtype === 'c') return COMPOSITE;
  const name = sqlType.startsWith('"') && !sqlType.includes('.') ? sqlType.slice(1, -1) : sqlType;
  if (/^\w+$/.test(name)) return TYPES.get(name) ?? OTHER;
  // Outside pg_catalog, as "schema"."name": a tenant's own type, such as a range, may have any name. Citext is an extension's.
  return (sqlType.endsWith('."citext"') ? TYPES.get('citext') : undefined) ?? OTHER;
}
