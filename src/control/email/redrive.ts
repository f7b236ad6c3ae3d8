import { GraphQLNonNull, GraphQLString, type GraphQLObjectType } from 'graphql';
import { redriveDeliveries, redriveDelivery } from '../../db/ledger/redrive.js';
import type { Principal } from '../../db/roles/principal.js';
import { constant, identifier, sql, type Sql } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { compileFilter } from '../../graphql/filter/compile.js';
import { parseFilter } from '../../graphql/filter/syntax/parser.js';
import { createAliasSource } from '../../graphql/filter/rows/scope.js';
import { principalInputs } from '../../graphql/policy/policy.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { CONTROL_CATALOG } from '../controlCatalog.js';
import { bigintId } from '../derive/badInput.js';
import { emailDelivery } from '../objects/emailDelivery.js';
import { visibleTo } from '../objects/index.js';
import { findRow } from '../derive/rows.js';
import { CLIENT_FILTER_MS } from '../request/documentLimits.js';
import { requireDeliveryRepairer } from '../permissions.js';
import type { ControlField, ControlFields } from '../controlContext.js';

/** Maximum per request; call again for the rest. */
const MAX_AT_ONCE = 1_000;

/** @param deliveryType the result type for one delivery */
export function redriveMutations(deliveryType: GraphQLObjectType): ControlFields {
  const redriveOne: ControlField<{ deliveryid: string }> = {
    type: deliveryType,
    description: 'Resends a finished delivery, whatever its outcome.',
    args: { deliveryid: { type: new GraphQLNonNull(ID) } },
    resolve: async (_source, args, context) => {
      const { principal, db, deps } = context;
      requireDeliveryRepairer(principal);
      const deliveryid = bigintId(args.deliveryid, emailDelivery.label);
      await redriveDelivery(db, principal.tenantid, deliveryid, deps.config.tenantEmailsPerSecond);
      return findRow(context, emailDelivery, { deliveryid });
    },
  };
  return { redrive_email_delivery: redriveOne, redrive_email_deliveries: redriveMany };
}

const redriveMany: ControlField<{ filter?: string | null }> = {
  type: SCALARS.Int,
  description: `Resends the deliveries that ended as failed, skipped or unknown and match the filter, oldest first, at most ${MAX_AT_ONCE} per call. Returns their number.`,
  args: { filter: { type: GraphQLString } },
  resolve: async (_source, { filter }, { principal, db, deps }) => {
    requireDeliveryRepairer(principal);
    await db.query(`set local statement_timeout = ${CLIENT_FILTER_MS}`);
    const ids = await findUnsent(db, principal, filter ?? '', MAX_AT_ONCE);
    await db.query('set local statement_timeout to default');
    return redriveDeliveries(db, principal.tenantid, ids, deps.config.tenantEmailsPerSecond);
  },
};

/**
 * Finds deliveries that ended as failed, skipped or unknown, oldest first. A filter never selects `sent` ones, since a typo
 * would send every email twice. Throws AppError FILTER_*.
 * @param after only those with a higher id
 */
export async function findUnsent(
  db: StatementRunner,
  principal: Principal,
  filter: string,
  limit: number,
  after = '0',
): Promise<readonly string[]> {
  const unsent = sql`select d.deliveryid::text from rowpost.email_delivery d
    where d.tenantid = ${constant(principal.tenantid, 'int4')} and ${conditionOf(principal, filter)}
      and d.state in ('failed', 'skipped', 'unknown') and d.deliveryid > ${constant(after, 'int8')}
    order by d.deliveryid limit ${constant(limit, 'int4')}`;
  const inputs = { variables: {}, principal: principalInputs(principal) };
  const rows = await runSql<{ deliveryid: string }>(db, unsent, inputs);
  return rows.map((row) => row.deliveryid);
}

function conditionOf(principal: Principal, filter: string): Sql {
  const table = CONTROL_CATALOG.tables.get('email_delivery');
  if (!table) throw new Error('the control catalog lacks email_delivery');
  const { tree, literals } = parseFilter(filter);
  return compileFilter(tree, literals, {
    catalog: CONTROL_CATALOG,
    table,
    alias: identifier('d'),
    aliases: createAliasSource(),
    access: { predicate: visibleTo(principal) },
    filterVariable: undefined,
  });
}
