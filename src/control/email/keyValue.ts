import type { Column, Table } from '../../db/catalog/catalog.js';
import { exactInteger, ExactNumber, isJsonObject } from '../../losslessJson.js';
import { badInput } from '../object/badInput.js';

/**
 * What a key gives for a column of it, as text.
 * @param key an object by column name, or the value of a key of one column
 * Throws AppError BAD_USER_INPUT.
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
  throw badInput('key', `key must give ${name}.`);
}
