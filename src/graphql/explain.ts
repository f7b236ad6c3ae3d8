import { randomBytes } from 'node:crypto';
import type { CompiledStatement } from '../db/pool/compiledStatement.js';
import { preparedText } from '../db/pool/preparedStatements.js';
import type { Transactions } from '../db/pool/transactions.js';
import { empty, identifier, join, sql, statement, written } from '../db/sql/sql.js';
import type { Principal } from '../db/roles/principal.js';
import type { AppError } from '../foundation/errors.js';
import { withCurrentCatalog } from './currentCatalog.js';
import type { Engine } from './engine.js';
import type { PlannedField } from './plan/plan.js';
import { planRequest, type GraphqlRequest } from './plan/planRequest.js';
import { complete } from './steps.js';

/** A root field of a document, or an aggregate of `Aggregates`. */
export interface ExplainedField {
  readonly path: readonly string[];
  /** The SQL statements; empty if the field is resolved without PostgreSQL. */
  readonly statements: readonly ExplainedStatement[];
  /** Why the field is rejected. */
  readonly error?: AppError;
}

export interface ExplainedStatement {
  /** With parameters $1, $2, … */
  readonly sql: string;
  /** Lines of PostgreSQL's EXPLAIN. */
  readonly plan: readonly string[];
}

/**
 * Plans the request for the principal and has PostgreSQL plan its statements, as the tenant's role, in read-only
 * transactions. The plan is the generic one, without parameter values: the caller must not see those of policy rules.
 * Throws DocumentError, FieldError, AppError.
 */
export async function explainRequest(
  engine: Engine,
  principal: Principal,
  request: GraphqlRequest,
): Promise<readonly ExplainedField[]> {
  const { plan } = await withCurrentCatalog(engine.catalogs, principal, (catalog) =>
    complete(planRequest(engine, principal, catalog, request)),
  );
  const explained: ExplainedField[] = [];
  for (const { path, field } of plan.fields.flatMap((root) => leaves(root, []))) {
    const statements: ExplainedStatement[] = [];
    for (const planned of field.kind === 'statement' ? field.statements : [])
      statements.push(await explain(engine.transactions, principal.tenantid, planned));
    explained.push({ path, statements, ...(field.kind === 'refused' ? { error: field.error.error } : {}) });
  }
  return explained;
}

interface Leaf {
  readonly path: readonly string[];
  readonly field: PlannedField;
}

function leaves(field: PlannedField, above: readonly string[]): readonly Leaf[] {
  const path = [...above, field.key];
  return field.kind === 'object' ? field.fields.flatMap((inner) => leaves(inner, path)) : [{ path, field }];
}

/** Explains EXECUTE of a prepared statement, because EXPLAIN (GENERIC_PLAN) needs PostgreSQL 16. */
async function explain(
  transactions: Transactions,
  tenantid: number,
  { statement: { text }, slots }: CompiledStatement,
): Promise<ExplainedStatement> {
  // Names are per connection: one left behind by an error must not collide.
  const name = identifier(`explained_${randomBytes(8).toString('hex')}`);
  const nulls = slots.length === 0 ? empty : sql`(${join(slots.map(() => sql`null`))})`;
  const outcome = await transactions.run({
    tenantid,
    mode: 'read',
    statements: [
      statement`select pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)`,
      statement`prepare ${name} as ${written(text)}`,
      statement`explain execute ${name}${nulls}`,
      statement`deallocate ${name}`,
    ].map((step) => ({ statement: preparedText(step), values: [] })),
  });
  if (outcome.kind === 'failed') throw outcome.error;
  return { sql: text, plan: (outcome.results[2] ?? []).map(([line]) => line ?? '') };
}
