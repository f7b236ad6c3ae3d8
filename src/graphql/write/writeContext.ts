import { GraphQLInputObjectType, type GraphQLSchema } from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { sql, textConstant, type Sql } from '../../db/sql.js';
import { REFUSALS } from '../../db/sqlState.js';
import { AppError } from '../../errors.js';
import type { Capability, Policy, Reach } from '../policy/policy.js';
import type { ReadContext } from '../read/readContext.js';

export interface WriteContext extends ReadContext {
  readonly policy: Policy;
  readonly schema: GraphQLSchema;
}

/** The rows that the principal may change this way. Throws AppError PERMISSION_DENIED when there are none. */
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
 * An expression that fails the statement, and with it the transaction whose commit is already on its way: reading a
 * setting that does not exist raises an error that carries the setting's name.
 */
export function refuse(reason: keyof typeof REFUSALS, columns?: string): Sql {
  const setting = columns === undefined ? REFUSALS[reason] : `${REFUSALS[reason]} ${columns}`;
  return sql`current_setting(${textConstant(setting)})`;
}

export function inputType(context: WriteContext, table: Table): GraphQLInputObjectType {
  const type = context.schema.getType(`${table.name}Input`);
  if (type instanceof GraphQLInputObjectType) return type;
  throw new AppError('READ_ONLY_TABLE', `${table.name} is read-only.`);
}
