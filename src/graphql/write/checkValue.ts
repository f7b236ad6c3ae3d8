import { suggestion } from 'rowpost-jinja2/suggestion';
import type { Column, ColumnType } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import { exactInteger, isJsonObject } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { float4, float8 } from '../filter/values/literalForms.js';

/** Throws AppError BAD_USER_INPUT for values that PostgreSQL would silently alter, or reject without naming column and value. */
export function checkValue(column: Column, value: unknown): void {
  if (value === null || value === undefined) return;
  checkText(column, value);
  checkEnum(column, value);
  checkNumber(column, value);
  checkBytes(column, value);
  checkMembers(column, column.type, value);
}

/** The same for a value of a row's key that is only compared. */
export function checkKey(column: Column, value: unknown): void {
  checkText(column, value);
  checkNumber(column, value);
  if (!column.type.array) checkBytes(column, value);
}

const integerWithin =
  (min: bigint, max: bigint) =>
  (text: string): boolean => {
    const integer = exactInteger(text);
    return integer !== undefined && integer >= min && integer <= max;
  };

/** Whether a type can represent a number. PostgreSQL wraps negative oids, and text may exceed the range of a double. */
const HOLDS: Readonly<Record<string, (text: string) => boolean>> = {
  int2: integerWithin(-(2n ** 15n), 2n ** 15n - 1n),
  int4: integerWithin(-(2n ** 31n), 2n ** 31n - 1n),
  int8: integerWithin(-(2n ** 63n), 2n ** 63n - 1n),
  oid: integerWithin(0n, 2n ** 32n - 1n),
  float4: (text) => float4(text) !== undefined,
  float8: (text) => float8(text) !== undefined,
};
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;
const MAX_SHOWN_CHARACTERS = 100;

/** Rejects a number that is out of its column's range. */
function checkNumber(column: Column, value: unknown): void {
  const holds = ownValue(HOLDS, column.type.sqlType);
  if (!holds) return;
  for (const item of Array.isArray(value) ? value.flat(6) : [value]) {
    const text = typeof item === 'string' || typeof item === 'number' ? String(item) : '';
    if (!NUMBER.test(text) || holds(text)) continue;
    const message = `${column.name} can't hold ${text.slice(0, MAX_SHOWN_CHARACTERS)}.`;
    throw new AppError('BAD_USER_INPUT', message, { details: { column: column.name } });
  }
}

function checkEnum(column: Column, value: unknown): void {
  const labels = column.type.enumLabels;
  if (!labels) return;
  for (const item of Array.isArray(value) ? value.flat(6) : [value]) {
    if (item === null || labels.has(String(item))) continue;
    throw new AppError('BAD_USER_INPUT', `${column.name} must be one of ${[...labels].join(', ')}.`, {
      details: { column: column.name },
    });
  }
}

/** Rejects what decodes to other bytes than were meant: decoders leave out a last character that is no byte, and all others. */
function checkBytes(column: Column, value: unknown): void {
  if (column.type.kind !== 'bytea') return;
  for (const item of Array.isArray(value) ? value.flat(6) : [value]) {
    if (typeof item !== 'string' || isBase64(item) || /^\\x(?:[0-9a-f]{2})*$/i.test(item)) continue;
    throw new AppError('BAD_USER_INPUT', `${column.name} is not base64.`, {
      details: { column: column.name },
    });
  }
}

/** Rejects members that a composite type doesn't have: PostgreSQL leaves them out. */
function checkMembers(column: Column, type: ColumnType, value: unknown): void {
  const { fields } = type;
  if (fields === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) checkMembers(column, type, item);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const memberType = fields.get(name);
    if (!memberType) {
      const hint = suggestion(name, [...fields.keys()]);
      throw new AppError(
        'BAD_USER_INPUT',
        `${column.name} has no member "${name.slice(0, MAX_SHOWN_CHARACTERS)}".`,
        {
          ...(hint === undefined ? {} : { hint }),
          details: { column: column.name },
        },
      );
    }
    checkMembers(column, memberType, member);
  }
}

function isBase64(text: string): boolean {
  const compact = text.replace(/\s/g, '');
  return compact.replace(/={1,2}$/, '').length % 4 !== 1 && /^(?:[A-Za-z0-9+/_-]{2,}={0,2})?$/.test(compact);
}

/** Rejects lone surrogates: UTF-8 can't represent them, so another character would be stored. */
function checkText(column: Column, value: unknown): void {
  if (typeof value === 'string' ? value.isWellFormed() : !Array.isArray(value)) return;
  if (Array.isArray(value)) {
    for (const item of value) checkText(column, item);
    return;
  }
  const message = `${column.name} holds half of a surrogate pair, which is no character.`;
  throw new AppError('BAD_USER_INPUT', message, { details: { column: column.name } });
}
