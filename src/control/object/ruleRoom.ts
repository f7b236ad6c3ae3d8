import { identifier, join, sql, statement } from '../../db/sql.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from './badInput.js';

/** How many rules of a kind a tenant may have, and how large they may be together: they are read together. */
interface RuleRoom<Column extends string> {
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

/** Throws AppError BAD_USER_INPUT for a new rule, or one that grows, unless there is room for it. */
export async function requireRoom<Column extends string>(
  { db, principal: { tenantid } }: ControlContext,
  { table, label, columns, largest, maxRows, maxCharacters }: RuleRoom<Column>,
  before: (Values<Column> & { readonly ruleid: string | number }) | undefined,
  row: Values<Column>,
): Promise<void> {
  const sizeOf = (values: Values<Column>): number =>
    columns.reduce((sum, column) => sum + JSON.stringify(values[column] ?? '').length, 0);
  const size = sizeOf(row);
  if (before && size <= sizeOf(before)) return;
  const lengths = columns.map((column) => sql`length(coalesce(${identifier(column)}::text, ''))`);
  const [others]: { rows: number; characters: number }[] = await db(`rowpost.${table}`)
    .where({ tenantid })
    .whereRaw('ruleid is distinct from ?', [before?.ruleid ?? null])
    .select(
      db.raw('count(*)::int as rows'),
      db.raw(statement`coalesce(sum(${join(lengths, ' + ')}), 0)::float8 as characters`),
    );
  if (!before && (others?.rows ?? 0) >= maxRows)
    throw badInput('name', `A tenant has at most ${maxRows} ${label}.`);
  if (size + (others?.characters ?? 0) > maxCharacters)
    throw badInput(largest, `A tenant's ${label} have at most ${maxCharacters} characters.`);
}
