import type { ColumnType } from '../../../db/catalog/catalog.js';
import { param, type Inputs, type Slot, type Sql } from '../../../db/sql/sql.js';
import type { AppError } from '../../../foundation/errors.js';
import { errorAt } from '../syntax/errors.js';
import * as forms from './literalForms.js';
import type { LiteralForm } from './literalForms.js';
import type { Environment } from '../environment.js';
import type { ListItem, Literal, LiteralClass } from '../syntax/tree.js';
import { describe, isCitext, TYPES } from '../types.js';

/** How literals of one class are sent for a column type: as which parameter type, and with which check. */
interface Conversion {
  readonly castType: string;
  readonly form: LiteralForm;
  /** What the value must be, for the error message. */
  readonly expected: string;
}

const asIs: LiteralForm = (text) => text;
const CAST_RANKS = ['int2', 'int4', 'int8', 'numeric', 'float4', 'float8'];

/** Number types, the widest last; -1 for others. */
export const castRank = (sqlType: string): number => CAST_RANKS.indexOf(sqlType);

/**
 * The conversion of a class of literals for a type, which depends on the shape alone; undefined if the two can't be
 * compared. A number is sent as the column's own type if it fits and as the next wider one if it doesn't, so indexes are
 * used and nothing overflows. Text can be compared with every type: `roleid = "5"`.
 */
function conversionOf(literal: LiteralClass, type: ColumnType): Conversion | undefined {
  if (literal === 'boolean') return type.kind === 'boolean' ? convert('bool', forms.boolean) : undefined;
  return literal === 'text' ? textConversion(type) : numberConversion(literal, type);

  function convert(castType: string, form: LiteralForm, expected = describe(type)): Conversion {
    return { castType, form, expected };
  }

  function numberConversion(size: 'int4' | 'int8' | 'numeric', { kind, sqlType }: ColumnType) {
    if (kind === 'float') return convert(...floatForm(sqlType));
    if (kind === 'numeric') return convert('numeric', forms.decimal);
    if (kind === 'bigint') return convert(size === 'numeric' ? 'numeric' : 'int8', asIs);
    return kind === 'integer' ? convert(size, asIs) : undefined;
  }

  function textConversion({ kind, sqlType, enumLabels }: ColumnType): Conversion {
    switch (kind) {
      case 'integer':
      case 'bigint':
        return convert('int8', forms.wholeNumber, 'a whole number');
      case 'numeric':
        return convert('numeric', forms.decimal, 'a number');
      case 'float':
        return convert(...floatForm(sqlType));
      case 'boolean':
        return convert('bool', forms.boolean, 'true or false');
      case 'text':
        return convert(textParameterType(type), asIs);
      case 'uuid':
        return convert('uuid', forms.uuid, 'a uuid');
      case 'date':
      case 'timestamp':
      case 'timestamptz':
        return convert(sqlType, forms.moment, 'a date such as 2024-12-31 or 2024-12-31T23:59:00Z');
      case 'time':
        return convert(sqlType, forms.time, 'a time such as 23:59:00');
      case 'interval':
        return convert(sqlType, forms.interval, 'an interval such as 7 days');
      case 'json':
        return convert('jsonb', forms.json, 'JSON text');
      case 'bytea':
        return convert('bytea', forms.bytes, 'base64 text');
      case 'enum': {
        if (!enumLabels) return convert(sqlType, asIs);
        const form: LiteralForm = (text) => (enumLabels.has(text) ? text : undefined);
        return convert(sqlType, form, `one of ${firstOf(enumLabels).join(', ')}`);
      }
      case 'other':
        return convert(sqlType, asIs, `a value of type ${sqlType.replace(/^.*\.|"/g, '')}`);
    }
  }
}

/** bpchar comparison ignores trailing blanks, citext ignores case; all others use text, since varchar(3) would truncate. */
function textParameterType(type: ColumnType): string {
  if (/^(bpchar|char|character)$/.test(type.sqlType)) return 'bpchar';
  return isCitext(type) ? type.sqlType : 'text';
}

const MAX_SHOWN_LABELS = 20;

function firstOf(labels: ReadonlySet<string>): readonly string[] {
  const first: string[] = [];
  for (const label of labels) if (first.push(label) === MAX_SHOWN_LABELS) break;
  return first;
}

function floatForm(sqlType: string): [castType: string, form: LiteralForm, expected: string] {
  const castType = /float4|real/.test(sqlType) ? 'float4' : 'float8';
  return [castType, forms[castType], `a number in the range of ${castType}`];
}

/** The type of a literal without context. */
export function naturalType(literal: LiteralClass): ColumnType {
  return TYPES[literal];
}

/** The expression that literals are in. */
type LiteralPlace = Pick<Environment, 'scope' | 'literals'>;

/** A scalar literal as a parameter of a type; undefined if literals of its class can't have that type. */
export function literalParameter(
  place: LiteralPlace,
  node: { readonly index: number; readonly class: LiteralClass },
  type: ColumnType,
): Sql | undefined {
  const conversion = conversionOf(node.class, type);
  return conversion && !type.array ? converted(place, node.index, conversion) : undefined;
}

function converted(place: LiteralPlace, index: number, conversion: Conversion): Sql {
  const send = (literal: Literal): unknown => (literal.kind === 'list' ? null : checked(literal, conversion));
  return param(literalSlot(place, index, send, conversion.expected), conversion.castType);
}

/**
 * A list of literals as one array parameter; undefined if one of the classes can't have the element type. `nulls`: whether
 * null items are kept; IN handles them separately.
 */
export function listParameter(
  place: LiteralPlace,
  node: { readonly index: number; readonly classes: readonly LiteralClass[] },
  element: ColumnType,
  nulls: 'keep' | 'drop',
): { readonly sql: Sql; readonly itemType: string } | undefined {
  if (WITHOUT_LISTS.has(element.sqlType)) return undefined;
  const conversions = new Map(node.classes.map((literal) => [literal, conversionOf(literal, element)]));
  let widest: Conversion | undefined;
  for (const conversion of conversions.values()) {
    if (!conversion) return undefined;
    if (!widest || castRank(conversion.castType) > castRank(widest.castType)) widest = conversion;
  }
  // Numbers of a list are sent in the widest one's form: digits are written the same way whatever their size.
  const castType = widest?.castType ?? conversionOf('text', element)?.castType ?? element.sqlType;
  const sendItem = (item: ListItem): unknown => {
    if (item.kind === 'null') return null;
    const conversion = item.kind === 'text' ? conversions.get('text') : widest;
    return conversion ? checked(item, conversion) : null;
  };
  const send = (literal: Literal): unknown => {
    const items = literal.kind === 'list' ? literal.items : [];
    return (nulls === 'drop' ? items.filter((item) => item.kind !== 'null') : items).map(sendItem);
  };
  const { expected } = widest ?? conversionOf('text', element) ?? {};
  return { sql: param(literalSlot(place, node.index, send, expected), `${castType}[]`), itemType: castType };
}

/** The types of PostgreSQL that have no lists, see `typarray`: they hold what it knows of its tables. */
const WITHOUT_LISTS: ReadonlySet<string> = new Set([
  'pg_brin_bloom_summary',
  'pg_brin_minmax_multi_summary',
  'pg_dependencies',
  'pg_mcv_list',
  'pg_ndistinct',
  'pg_node_tree',
]);

/** A text literal with a syntax of its own, such as a LIKE pattern. */
export function formParameter(place: LiteralPlace, index: number, form: LiteralForm, expected: string): Sql {
  return converted(place, index, { castType: 'text', form, expected });
}

/** @throws AppError FILTER_TYPE at the literal: when the statement is bound or, if the literal is fixed, compiled. */
function checked(item: ListItem, { form, expected }: Conversion): unknown {
  if (item.kind === 'null') return null;
  if (item.kind === 'boolean') return item.value;
  const sent = form(item.text);
  if (sent !== undefined) return sent;
  throw refusedLiteral(item, expected);
}

function refusedLiteral(literal: Literal, expected: string): AppError {
  const { kind, at } = literal;
  const shown = kind === 'list' ? 'A value of the list' : quotedLiteral(literal.text);
  return errorAt('FILTER_TYPE', `${shown} is not ${expected}`, at, `Give ${expected}.`);
}

function quotedLiteral(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

const REFUSALS = new WeakMap<Slot, (inputs: Inputs) => AppError>();

/** The error of the caller's literal that PostgreSQL refuses as the value of this slot. */
export function refusalOfSlot(slot: Slot, inputs: Inputs): AppError | undefined {
  return REFUSALS.get(slot)?.(inputs);
}

function literalSlot(
  { scope: { filterVariable, isRule }, literals }: LiteralPlace,
  index: number,
  send: (literal: Literal) => unknown,
  expected = 'such a value',
): Slot {
  const literalOf = ({ literals: given }: Inputs): Literal =>
    known(
      filterVariable === undefined
        ? literals[index]
        : (given?.(filterVariable)[index] as Literal | undefined),
    );
  const fixed = filterVariable === undefined ? send(known(literals[index])) : undefined;
  const slot: Slot = filterVariable === undefined ? () => fixed : (inputs) => send(literalOf(inputs));
  if (isRule !== true) REFUSALS.set(slot, (inputs) => refusedLiteral(literalOf(inputs), expected));
  return slot;
}

function known(literal: Literal | undefined): Literal {
  if (!literal) throw new Error('a statement was bound without the literals of its filter');
  return literal;
}
