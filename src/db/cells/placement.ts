import type { StatementRunner } from '../sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { statement } from '../sql/sql.js';
import { ID_RANGE_SIZE } from '../tenants/idRange.js';

interface Placement {
  /** Null for a tenant that this cell does not know. */
  readonly held: boolean | null;
  /** The cell that holds it according to the directory; null without a directory. */
  readonly base_url: string | null;
  readonly own: boolean | null;
}

/**
 * Throws AppError TENANT_MOVED for a tenant of another cell, TENANT_MOVING for one that is being handed over. The truth is
 * the tenant's own row; the copy of the directory only says where else to ask.
 */
export async function requireTenantInThisCell(db: StatementRunner, tenantid: number): Promise<void> {
  const { rows } = await db.query<Placement>(PLACEMENT_SQL, [tenantid]);
  const [place] = rows;
  if (!place || place.held === true) return;
  if (place.base_url !== null && place.own === false) {
    throw new AppError('TENANT_MOVED', `The tenant is served at ${place.base_url}.`, {
      details: { base_url: place.base_url },
    });
  }
  // Unknown, and not known to be elsewhere either.
  if (place.held === null) return;
  throw moving();
}

/** Whether another cell holds the tenant according to the directory, whatever this one has of it. */
export async function isInOtherCell(db: StatementRunner, tenantid: number): Promise<boolean> {
  const { rows } = await db.query<Placement>(PLACEMENT_SQL, [tenantid]);
  return rows[0]?.own === false;
}

const moving = (): AppError => new AppError('TENANT_MOVING', 'The tenant is moving to another cell.');

/** What publishes a tenant's tables while another cell follows them, before the tenant moves there. */
export const followPublication = (tenantid: number): string => `rowpost_move_${tenantid}`;

export async function isFollowed(db: StatementRunner, tenantid: number): Promise<boolean> {
  const { rows } = await db.query(
    statement`select from pg_catalog.pg_publication where pubname = $1::text::name`,
    [followPublication(tenantid)],
  );
  return rows.length > 0;
}

/** Throws AppError TENANT_MOVING while another cell follows the tenant's tables. */
export async function requireNotFollowed(db: StatementRunner, tenantid: number): Promise<void> {
  if (!(await isFollowed(db, tenantid))) return;
  throw new AppError('TENANT_MOVING', 'The tables of the tenant are followed by another cell.', {
    hint: 'Wait until the tenant has moved, or abort that: "rowpost tenant move --abort".',
  });
}

/** SQL of tenant `t`: whether there is a hold, whose session has not ended. */
export const WRITES_HELD = `
  exists (select from rowpost.write_hold h, pg_catalog.pg_stat_get_activity(h.pid) a
    where h.tenantid = t.tenantid and a.backend_start = h.backend_start)`;

/** Throws AppError TENANT_MOVING while a move holds the writes to the tenant's tables. */
export async function requireNoHold(db: StatementRunner, tenantid: number): Promise<void> {
  const { rows } = await db.query(HOLD_SQL, [tenantid]);
  if (rows.length > 0) throw moving();
}

const HOLD_SQL = `select from rowpost.tenant t where t.tenantid = $1 and ${WRITES_HELD}`;

const PLACEMENT_SQL = statement`
  select case when t.tenantid is not null then t.moved_to is null end as held, c.base_url, c.own
  from (select) one
    left join rowpost.tenant t on t.tenantid = $1
    left join rowpost.cell c on c.name = coalesce(
      (select cell from rowpost.cell_tenant where tenantid = $1),
      (select name from rowpost.cell where $1 > 0 and id_range = $1 / ${ID_RANGE_SIZE}))`;
