import type { Column, Table } from '../../db/catalog/catalog.js';
import { exactInteger, ExactNumber, isJsonObject } from '../../foundation/json/losslessJson.js';
import { bytes } from '../../graphql/filter/values/literalForms.js';
import { ownValue } from '../../foundation/ownValue.js';
import { badInput } from '../derive/badInput.js';

/**
 * The value of one of the key's columns, as text. Throws AppError BAD_USER_INPUT.
 * @param key an object by column name, or the value of a single-column key
 */
export function keyValue({ primaryKey }: Table, { name, sqlName, type }: Column, key: unknown): string {
  const given: unknown = isJsonObject(key)
    ? (ownValue(key, name) ?? ownValue(key, sqlName))
    : primaryKey.length === 1
      ? key
      : undefined;
  if (type.kind === 'bytea' && !type.array && typeof given === 'string') return bytesText(name, given);
  if (given instanceof ExactNumber) return String(exactInteger(given.text) ?? given.text);
  if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean')
    return String(given);
  throw badInput(
    'key',
    `key must give ${name}${primaryKey.length === 1 ? '' : `, as in ${example(primaryKey)}`}.`,
  );
}

/** Bytes in PostgreSQL's form, in which events show them, or in base64, as the API does. */
function bytesText(name: string, given: string): string {
  const text = given.startsWith('\\x') ? given : bytes(given);
  if (text === undefined) throw badInput('key', `${name} is not base64.`);
  return text;
}

function example(primaryKey: Table['primaryKey']): string {
  return `{${primaryKey.map(({ name }) => `"${name}": …`).join(', ')}}`;
}
