import { suggestion } from 'rowpost-jinja2/suggestion';
import type { Catalog } from '../db/catalog/catalog.js';
import { AppError, type ErrorDetails } from '../foundation/errors.js';

/** The error for an unknown table, with a suggestion; also recognizes a table's name in the database. */
export function unknownTable({ tables }: Catalog, name: string, details: ErrorDetails = {}): AppError {
  const served = [...tables.values()].find(({ sqlName }) => sqlName === name);
  const hint = served
    ? `The table is served as "${served.name}": use this name here, in rules, queries and templates.`
    : suggestion(name, tables.keys());
  return new AppError('UNKNOWN_TABLE', `There is no table "${name}".`, { hint, details });
}
