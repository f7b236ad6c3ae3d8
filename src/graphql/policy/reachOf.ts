import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/roles/principal.js';
import type { Sql } from '../../db/sql/sql.js';
import type { Engine } from '../engine.js';
import { createAliasSource } from '../filter/rows/scope.js';
import { planOwnerOf } from '../plan/planOwner.js';
import { policyOf, type Capability, type Reach } from './policy.js';

/** The rows of a table that a capability grants to a principal, for statements that are not a request's. Throws AppError. */
export function reachOf(
  { brokenRules, planning }: Pick<Engine, 'brokenRules' | 'planning'>,
  principal: Principal,
  catalog: Catalog,
  {
    capability,
    table,
    alias,
  }: { readonly capability: Capability; readonly table: Table; readonly alias: Sql },
): Promise<Reach> {
  const policy = policyOf(principal, { catalog, aliases: createAliasSource(), brokenRules });
  return planning.run(
    planOwnerOf(principal),
    policy.inSteps(() => policy.reach(capability, table, alias)),
  );
}
