import { ownValue } from '../../foundation/ownValue.js';
import { identifier, join, sql, statement } from '../../db/sql/sql.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from './badInput.js';

/** How many rules of a kind a tenant may have, and how large they may be together: they are read together. */
export interface RuleQuota<Column extends string> {
  readonly table: 'policy_rule' | 'email_rule';
  /** In the plural. */
  readonly label: string;
  /** Those whose size counts. */
  readonly columns: readonly Column[];
  /** The column that an error about the size is attributed to. */
  readonly largest: Column;
  readonly maxRows: number;
  readonly maxCharacters: number;
}

type Values<Column extends string> = Readonly<Record<Column, unknown>>;

/** Throws AppError BAD_USER_INPUT for a new rule, or one that grows, unless the quota allows it. */
export async function requireQuota<Column extends string>(
  context: ControlContext,
  quota: RuleQuota<Column>,
  before: (Values<Column> & { readonly ruleid: string | number }) | undefined,
  row: Values<Column>,
): Promise<void> {
  const { label, columns, largest, maxRows, maxCharacters } = quota;
  const sizeOf = (values: Values<Column>): number =>
    columns.reduce((sum, column) => sum + JSON.stringify(ownValue(values, column) ?? '').length, 0);
  const size = sizeOf(row);
  if (before && size <= sizeOf(before)) return;
  const others = await measure(context, quota, before?.ruleid);
  if (!before && others.rows >= maxRows) throw badInput('name', `A tenant has at most ${maxRows} ${label}.`);
  if (size + others.characters > maxCharacters)
    throw badInput(largest, `A tenant's ${label} have at most ${maxCharacters} characters.`);
}

/** Throws AppError BAD_USER_INPUT unless the quota allows all rules that the tenant has. */
export async function requireAllFit(
  context: Pick<ControlContext, 'db' | 'principal'>,
  quota: RuleQuota<string>,
): Promise<void> {
  const { rows, characters } = await measure(context, quota);
  if (rows > quota.maxRows) throw badInput('name', `A tenant has at most ${quota.maxRows} ${quota.label}.`);
  if (characters > quota.maxCharacters)
    throw badInput(
      quota.largest,
      `A tenant's ${quota.label} have at most ${quota.maxCharacters} characters.`,
    );
}

async function measure(
  { db, principal: { tenantid } }: Pick<ControlContext, 'db' | 'principal'>,
  { table, columns }: RuleQuota<string>,
  except: string | number | null = null,
): Promise<{ readonly rows: number; readonly characters: number }> {
  const lengths = columns.map((column) => sql`length(coalesce(${identifier(column)}::text, ''))`);
  const { rows } = await db.query<{ rows: number; characters: number }>(
    statement`select count(*)::int as rows, coalesce(sum(${join(lengths, ' + ')}), 0)::float8 as characters
      from ${identifier('rowpost', table)} where tenantid = $1 and ruleid is distinct from $2`,
    [tenantid, except],
  );
  return rows[0] ?? { rows: 0, characters: 0 };
}
