import type { Pool } from 'pg';
import { pruneOldRows } from '../../pool/pruneOldRows.js';
import { isStorable } from '../../sql/isStorable.js';
import type { StatementRunner } from '../../sql/statementRunner.js';

/** Something to remember about a role's ways in and out. */
export interface SignInEvent {
  readonly tenantid: number;
  readonly kind:
    'signed_in' | 'refused' | 'provisioned' | 'classes_changed' | 'signed_out' | 'password_email';
  readonly roleid?: number | undefined;
  /** Instead of `roleid`: looked up when the event is stored. */
  readonly login?: string | undefined;
  /** The configuration of the provider; a password if omitted. */
  readonly confid?: number | undefined;
  /** Of a refusal, or of an email that was not sent, the code; of changed classes, which; of a sign-out, how. */
  readonly reason?: string | undefined;
  readonly address?: string | undefined;
  /** The role that did it, if that is another one. */
  readonly actorid?: number | undefined;
}

/** Rows of refusals, of one tenant in an hour: those of further roles and addresses are counted together. */
export const MAX_REFUSED = 100;

/**
 * Stores events. Those that are alike are one row with their number: refusals of an hour, and others of a minute, of which nobody
 * makes any without the credentials of a role, but for a few emails about passwords. Events of tenants that there are not, are not stored.
 */
export async function recordSignInEvents(
  db: StatementRunner,
  events: readonly (SignInEvent & { readonly count?: number })[],
): Promise<void> {
  // Anybody may send any login, and a statement that fails would lose the events of all tenants.
  const stored = events.map(({ login, ...event }) =>
    login !== undefined && isStorable(login) ? { ...event, login } : event,
  );
  await db.query(
    // In one order, so that two processes don't deadlock.
    `insert into rowpost.sign_in_event as e (tenantid, slot, kind, roleid, confid, provider, reason, address, actorid, count)
     select g.tenantid, g.slot, g.kind, g.roleid, g.confid, p.name, g.reason, g.address, g.actorid, sum(g.count)
     from (
       select n.tenantid, n.slot, n.kind, n.confid, n.reason, n.actorid, n.count, case when not m.too_many then n.roleid end as roleid,
         case when not m.too_many then n.address end as address
       from (
         select i.tenantid, s.slot, i.kind, i.confid, i.reason, i.actorid, coalesce(i.count, 1) as count, i.address,
           coalesce(i.roleid, r.roleid) as roleid,
           dense_rank() over (partition by i.tenantid, i.kind
             order by coalesce(i.roleid, r.roleid), i.confid, i.reason, i.address, i.actorid) as number
         from jsonb_to_recordset($1::jsonb) i(tenantid int, kind text, roleid int, login text, confid int, reason text, address text,
             actorid int, count int)
           join rowpost.tenant t on t.tenantid = i.tenantid
           left join rowpost.role r on r.tenantid = i.tenantid and r.login = i.login and not r.deleted
           cross join lateral (
             select date_trunc(case i.kind when 'refused' then 'hour' else 'minute' end, now()) as slot) s
       ) n cross join lateral (
         -- Those of these events that there are already count twice.
         select n.kind = 'refused' and $2 < n.number + (
           select count(*) from rowpost.sign_in_event x
           where x.tenantid = n.tenantid and x.slot = n.slot and x.kind = 'refused') as too_many) m
     ) g
       left join rowpost.oidc_config c on c.tenantid = g.tenantid and c.confid = g.confid
       left join rowpost.oidc_providers p on p.providerid = c.providerid
     group by g.tenantid, g.slot, g.kind, g.roleid, g.confid, p.name, g.reason, g.address, g.actorid
     order by g.tenantid, g.slot, g.kind, g.roleid, g.confid, g.reason, g.address, g.actorid
     on conflict (tenantid, slot, kind, roleid, confid, reason, address, actorid)
       do update set count = e.count + excluded.count, last_time = now()`,
    [JSON.stringify(stored), MAX_REFUSED],
  );
}

/** Deletes old events. Safe to run concurrently. Throws what pg throws. */
export function pruneSignInEvents(pool: Pool, days: number): Promise<void> {
  return pruneOldRows(pool, { table: 'sign_in_event', time: 'slot', days });
}
