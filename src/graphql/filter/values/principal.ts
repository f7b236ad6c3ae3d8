import type { ColumnType } from '../../../db/catalog/catalog.js';
import { fullSqlType } from '../../../db/catalog/types.js';
import { param } from '../../../db/sql/sql.js';
import { ownValue } from '../../../foundation/ownValue.js';
import type { Value } from '../environment.js';
import { errorAt } from '../syntax/errors.js';
import type { PrincipalNode } from '../syntax/tree.js';
import { TYPES } from '../types.js';

const list = (type: ColumnType): ColumnType => ({ ...type, array: true });

/** The caller's fields that expressions can use; values are read from `Inputs.principal` by these names. */
const FIELDS: ReadonlyMap<string, ColumnType> = new Map([
  ['roleid', TYPES.int4],
  ['tenantid', TYPES.int4],
  ['parentid', TYPES.int4],
  ['classes', list(TYPES.int4)],
  ['capabilities', list(TYPES.text)],
  ['children', list(TYPES.int4)],
]);

/** @throws AppError FILTER_UNKNOWN_COLUMN */
export function compilePrincipal({ field, at }: PrincipalNode): Value {
  const type = FIELDS.get(field);
  if (!type) {
    const hint = `There are ${[...FIELDS.keys()].join(', ')}.`;
    throw errorAt('FILTER_UNKNOWN_COLUMN', `$_PRINCIPAL has no "${field}"`, at, hint);
  }
  return {
    is: 'value',
    sql: param((inputs) => ownValue(inputs.principal, field), fullSqlType(type)),
    type,
    operand: 'constant',
    reads: 'row',
  };
}
