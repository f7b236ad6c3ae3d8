import { GraphQLInputObjectType, type GraphQLSchema } from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { empty, sql, textConstant, type Sql } from '../../db/sql/sql.js';
import type { Refusal } from '../../db/sql/sqlState.js';
import { AppError } from '../../foundation/errors.js';
import type { Capability, Policy, Reach } from '../policy/policy.js';
import type { ReadContext } from '../read/readContext.js';

export interface WriteContext extends ReadContext {
  readonly policy: Policy;
  readonly schema: GraphQLSchema;
}

/** The condition for rows that the principal may change this way. Throws AppError PERMISSION_DENIED if there are none. */
export function changeable(
  context: WriteContext,
  capability: Capability,
  table: Table,
  alias: Sql,
): Exclude<Reach, 'none'> {
  const reach = context.policy.reach(capability, table, alias);
  if (reach !== 'none') return reach;
  throw new AppError('PERMISSION_DENIED', `This role may not ${capability} rows of ${table.name}.`, {
    details: { table: table.name, capability },
  });
}

/**
 * An expression that raises an error, which aborts the transaction although its commit has already been sent.
 * @param columns named by the error
 */
export function refuse(reason: Refusal, columns?: string): Sql {
  const given = columns === undefined ? empty : sql`, ${textConstant(columns)}`;
  return sql`rowpost_tenant.refuse(${textConstant(reason)}${given})`;
}

export function inputType(context: WriteContext, table: Table): GraphQLInputObjectType {
  const type = context.schema.getType(`${table.name}Input`);
  if (type instanceof GraphQLInputObjectType) return type;
  throw new AppError('READ_ONLY_TABLE', `${table.name} is read-only.`);
}
