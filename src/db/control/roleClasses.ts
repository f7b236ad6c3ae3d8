import type { Knex } from 'knex';

/** Of the given ids, those that are no class of the tenant. */
export async function findUnknownClasses(
  knex: Knex,
  tenantid: number,
  classids: readonly number[],
): Promise<readonly number[]> {
  if (classids.length === 0) return [];
  const rows = await knex('rowpost.role_class')
    .where({ tenantid })
    .whereIn('classid', [...classids])
    .select<{ classid: number }[]>('classid');
  const known = new Set(rows.map((row) => row.classid));
  return classids.filter((classid) => !known.has(classid));
}
