import type { Column, Table } from '../../db/catalog/catalog.js';
import { exactInteger, ExactNumber, isJsonObject } from '../../losslessJson.js';
import { badInput } from '../object/badInput.js';

/**
 * The value of one of the key's columns, as text. Throws AppError BAD_USER_INPUT.
 * @param key an object by column name, or the value of a single-column key
 */
export function keyValue({ primaryKey }: Table, { name, sqlName }: Column, key: unknown): string {
  const given: unknown = isJsonObject(key)
    ? (key[name] ?? key[sqlName])
    : primaryKey.length === 1
      ? key
      : undefined;
  if (given instanceof ExactNumber) return String(exactInteger(given.text) ?? given.text);
  if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean')
    return String(given);
  throw badInput(
    'key',
    `key must give ${name}${primaryKey.length === 1 ? '' : `, as in ${example(primaryKey)}`}.`,
  );
}

function example(primaryKey: Table['primaryKey']): string {
  return `{${primaryKey.map(({ name }) => `"${name}": …`).join(', ')}}`;
}
