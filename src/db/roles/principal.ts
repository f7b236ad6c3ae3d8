import { LRUCache } from 'lru-cache';
import { cacheLookups } from '../../foundation/observability/metrics.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { requireTenantInThisCell, WRITES_HELD } from '../cells/placement.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { API_KEYS, type ApiKey } from './apiKeys.js';
import { isConsoleSessionOpen, type ConsoleSessionKey } from './signIn/endedSessions.js';
import { ENDED_SESSIONS, hasSessionEnded } from './signIn/sessions.js';

/** A policy rule that applies to a principal. Rules only grant; several add up. */
export interface GrantedRule {
  readonly ruleid: number;
  readonly capabilities: readonly string[];
  readonly targets: readonly string[];
  /** Filter expression, or null for every row. */
  readonly filter: string | null;
}

/** The acting role of a tenant, with everything that determines its permissions. */
export interface Principal {
  readonly tenantid: number;
  readonly tenantName: string;
  readonly roleid: number;
  readonly login: string | null;
  readonly parentid: number | null;
  readonly classes: readonly number[];
  readonly capabilities: readonly string[];
  /**
   * Ids of the roles directly below this one, as PostgreSQL writes an array: there may be a million, and few requests use
   * them. `Nobody` has none: those who signed up are no business of other anonymous clients.
   */
  readonly children: string;
  readonly isRoot: boolean;
  /** Root, or holds `admin`: passes every policy rule of its own tenant. */
  readonly isAdmin: boolean;
  /** All access to the tenant is blocked; its email is still sent. */
  readonly isSuspended: boolean;
  /** A move to another cell holds the writes to the tenant's tables. */
  readonly areWritesHeld: boolean;
  /** Its queries may be served by a replica. */
  readonly readsReplica: boolean;
  /** The tenant's PostgreSQL schema; null for the installation, tenant 0. */
  readonly schema: string | null;
  readonly rules: readonly GrantedRule[];
  /** When the role was last deleted or restored, in milliseconds since the epoch; -Infinity if never. */
  readonly restoredMs: number;
  /**
   * Tokens of an earlier state of the role are refused, including those from before it was created: they belonged to an
   * earlier role with the same id, lost when a backup was restored. Milliseconds since the epoch.
   */
  readonly tokensValidFromMs: number;
  /** Its sessions that ended before their tokens expire, by id; null if they are too many to keep. */
  readonly endedSessions: ReadonlySet<string> | null;
  /** Those that have not expired when it was read. */
  readonly apiKeys: readonly ApiKey[];
  /** Of who acts by an API key that has not all the capabilities of its role: that key. */
  readonly boundBy?: string;
}

/** The role of anonymous clients. The login is reserved, and the role has no password. */
export const ANONYMOUS_LOGIN = 'Nobody';

/** All anonymous clients share one role, so what one of them created or may do must not extend to the others. */
export function isAnonymous({ login, isRoot }: Principal): boolean {
  return login === ANONYMOUS_LOGIN && !isRoot;
}

/** How long a changed or deleted role, or a tenant that was handed over, may be served from the cache. */
export const PRINCIPAL_MAX_AGE_MS = 900;
const MAX_ENTRIES = 10_000;
/**
 * Of one tenant. A principal is read before anything else limits its tenant, takes a connection that sign-ins need, and may have
 * a megabyte of rules.
 */
const READS = { perTenant: 2, waiting: 1_000, waitMs: 10_000 };

/**
 * Reads principals, caching each for less than a second: a deleted role or changed password takes effect within that
 * time on every process, at the cost of one small query per second and active role.
 */
export class PrincipalSource {
  readonly #principals: LRUCache<string, Promise<Principal | undefined>>;
  readonly #reads = new TenantLimiter(READS);
  #purgedAtMs = -Infinity;

  constructor(
    private readonly db: StatementRunner,
    private readonly now: () => number = Date.now,
  ) {
    this.#principals = new LRUCache({
      max: MAX_ENTRIES,
      ttl: PRINCIPAL_MAX_AGE_MS,
      ttlResolution: 0,
      perf: { now },
    });
  }

  /**
   * Throws AppError TENANT_MOVED, TENANT_MOVING, TOO_BUSY.
   * @returns undefined if there is no such role, it is deleted, or it is Nobody and anonymous logins are off
   */
  load(tenantid: number, roleid: number): Promise<Principal | undefined> {
    const known = this.#principals.get(`${tenantid}:${roleid}`);
    cacheLookups.principals[known ? 'hit' : 'miss'] += 1;
    return known ?? this.reload(tenantid, roleid);
  }

  /** Bypasses the cache, for the role alone. */
  reload(tenantid: number, roleid: number): Promise<Principal | undefined> {
    const key = `${tenantid}:${roleid}`;
    this.#purge();
    const principal = this.#reads.run(tenantid, () => readPrincipal(this.db, tenantid, roleid));
    this.#principals.set(key, principal);
    // Failed reads are not cached; a newer one stays.
    principal.catch(() => {
      if (this.#principals.peek(key) === principal) this.#principals.delete(key);
    });
    return principal;
  }

  /** Those that have expired go, because each may have as many rules as a tenant may. */
  #purge(): void {
    if (this.now() - this.#purgedAtMs < PRINCIPAL_MAX_AGE_MS) return;
    this.#purgedAtMs = this.now();
    this.#principals.purgeStale();
  }

  /** Whether one of the role's sessions has ended. */
  hasEnded({ tenantid, endedSessions }: Principal, sessionid: string): boolean | Promise<boolean> {
    const lookUp = (): Promise<boolean> => hasSessionEnded(this.db, { tenantid, sessionid });
    return endedSessions?.has(sessionid) ?? this.#reads.run(tenantid, lookUp);
  }

  /** As `isConsoleSessionOpen`. Throws AppError TOO_BUSY. */
  isConsoleSessionOpen(tokenHash: Buffer, session: ConsoleSessionKey): Promise<boolean> {
    return this.#reads.run(session.tenantid, () => isConsoleSessionOpen(this.db, tokenHash, session));
  }

  /** As the database says now. Throws AppError TENANT_MOVED, TENANT_MOVING. */
  requireTenantInThisCell(tenantid: number): Promise<void> {
    return requireTenantInThisCell(this.db, tenantid);
  }

  forgetAll(): void {
    this.#principals.clear();
  }

  /** Drops a tenant's cache entries, for the process that changed it. */
  forget(tenantid: number): void {
    for (const key of this.#principals.keys()) {
      if (key.startsWith(`${tenantid}:`)) this.#principals.delete(key);
    }
  }
}

/** `Principal.tokensValidFromMs` of a row of `rowpost.role`, as `r`. */
export const TOKENS_VALID_FROM_MS =
  "extract(epoch from date_trunc('milliseconds', greatest(r.tokens_valid_from, r.createtime)))::float8 * 1000";

type PrincipalRow = Omit<Principal, 'isAdmin' | 'endedSessions'> & {
  readonly isMoved: boolean;
  readonly endedSessions: readonly string[] | null;
};

/** Not from a cache. Throws AppError TENANT_MOVED, TENANT_MOVING. */
export async function readPrincipal(
  db: StatementRunner,
  tenantid: number,
  roleid: number,
): Promise<Principal | undefined> {
  const { rows } = await db.query<PrincipalRow>(PRINCIPAL_SQL, [tenantid, roleid, ANONYMOUS_LOGIN]);
  const [row] = rows;
  if (!row || row.isMoved) {
    await requireTenantInThisCell(db, tenantid);
    // It arrived between the two statements.
    return row && readPrincipal(db, tenantid, roleid);
  }
  return {
    ...row,
    isAdmin: row.isRoot || row.capabilities.includes('admin'),
    endedSessions: row.endedSessions && new Set(row.endedSessions),
  };
}

const PRINCIPAL_SQL = `
  select r.tenantid, t.name as "tenantName", r.roleid, r.login, r.parentid, r.classes || inherited.classes as classes,
    r.capabilities || given.capabilities as capabilities,
    coalesce((select array_agg(c.roleid order by c.roleid) from rowpost.role c
      where c.parentid = r.roleid and not c.deleted and (r.login is distinct from $3::text or t.root_roleid = r.roleid)), '{}')::text as children,
    t.root_roleid is not distinct from r.roleid as "isRoot", t.moved_to is not null as "isMoved", t.suspended as "isSuspended",
    r.read_replica as "readsReplica", t.schema,
    ${WRITES_HELD} as "areWritesHeld",
    ${TOKENS_VALID_FROM_MS} as "tokensValidFromMs", extract(epoch from r.restored)::float8 * 1000 as "restoredMs",
    ${ENDED_SESSIONS} as "endedSessions", ${API_KEYS} as "apiKeys",
    coalesce((select json_agg(json_build_object('ruleid', p.ruleid, 'capabilities', p.capabilities,
        'targets', p.targets, 'filter', p.filter) order by p.ruleid)
      from rowpost.policy_rule p
      where p.tenantid = r.tenantid
        and (r.roleid = any (p.roles) or (p.roles = '{}' and p.classes = '{}')
          -- Not p.classes && …, which takes time with the product of both.
          or p.ruleid in (
            select q.ruleid from rowpost.policy_rule q, unnest(q.classes) c(classid)
            where q.tenantid = r.tenantid and c.classid in (select unnest(r.classes || inherited.classes))))
    ), '[]') as rules
  from rowpost.role r join rowpost.tenant t using (tenantid)
    cross join lateral (
      -- Classes that hold for all roles below their members. The tree is climbed once, and only where there are such classes.
      select coalesce(array_agg(c.classid order by c.classid), '{}') as classes
      from rowpost.role_class c
      where c.tenantid = r.tenantid and c.inherit = 'full' and c.classid not in (select unnest(r.classes)) and c.classid in (
        with recursive above(roleid, parentid, classes) as (
          select p.roleid, p.parentid, p.classes from rowpost.role p where p.roleid = r.parentid
          union
          select p.roleid, p.parentid, p.classes from rowpost.role p join above a on p.roleid = a.parentid
        ) select unnest(classes) from above)
    ) inherited
    cross join lateral (
      select coalesce(array_agg(distinct g.capability), '{}') as capabilities
      from rowpost.role_class c, unnest(c.capabilities) g(capability)
      where c.tenantid = r.tenantid and c.capabilities <> '{}' and c.classid in (select unnest(r.classes || inherited.classes))
        and g.capability <> all (r.capabilities)
    ) given
  where r.tenantid = $1 and r.roleid = $2 and not r.deleted
    and (r.login is distinct from $3::text or t.anonymous_logins or t.root_roleid = r.roleid)`;
