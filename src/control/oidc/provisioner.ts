import type { TemplatePool } from 'rowpost-jinja2';
import { inTransaction } from '../../db/pool/inTransaction.js';
import { isAnonymous, readPrincipal, type Principal } from '../../db/roles/principal.js';
import { recordSignInEvents } from '../../db/roles/signIn/signInEvents.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError, ERROR_CODES } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { readRow } from '../derive/rows.js';
import { lockTenant } from '../lockTenant.js';
import { oidcProvisioning } from '../objects/oidcProvisioning.js';
import type { Services } from '../services.js';
import { claimsRead, groupsOf, notAdmitted, notMapped, requireAdmitted, withClaims } from './admission.js';
import { groupClassesOf, isInExactly, setGroupClasses } from './groupClasses.js';
import type { Admitted, Identity, Provisioning } from './identity.js';
import { findMapped, linkRole, makeRole, NO_NAMES, type Names } from './identityRoles.js';
import { isOfVersion, type OidcRegistration } from './oidcRegistration.js';
import type { RehearsedRole } from './oidcSetUp.js';

export interface ProvisionerDeps extends Pick<Services, 'config' | 'database'> {
  readonly templates: Pick<TemplatePool, 'render'>;
}

/** Of one tenant in a process: each has a connection of the service, and reads roles that may have a megabyte of rules. */
const LIMITS = { perTenant: 2, waiting: 200 };

/** Finds the role of an identity, or makes it if the configuration does that, and puts it in the classes of its groups. */
export class Provisioner {
  readonly #limiter: TenantLimiter;

  constructor(private readonly deps: ProvisionerDeps) {
    this.#limiter = new TenantLimiter({ ...LIMITS, waitMs: deps.config.poolTimeoutMs });
  }

  /**
   * @param registration by which the provider has identified the person
   * @param given of a sign-in as this role, whose mapping was checked; otherwise the role is that of the identity
   * Throws AppError OIDC_ROLE_NOT_MAPPED, OIDC_NOT_ADMITTED, OIDC_STATE_INVALID (the registration has changed), TENANT_SUSPENDED, TOO_BUSY.
   */
  async admit(
    { provisioning, version }: Pick<OidcRegistration, 'provisioning' | 'version'>,
    from: Identity,
    given: Admitted | undefined,
  ): Promise<Admitted> {
    const { tenantid } = from;
    const { pool } = this.deps.database;
    const limited = <T>(work: () => Promise<T>): Promise<T> => this.#limiter.run(tenantid, work);
    const known = given ?? (await findMapped(pool, from));
    // After the role's state is known: a later change of the provider ends that.
    if (!(await isOfVersion(pool, { ...from, version }))) throw changed();
    if (!provisioning) return known ?? fail(notMapped('No role is mapped to this identity.'));
    const identity = await withClaims(from, claimsRead(provisioning, known === undefined));
    requireAdmitted(provisioning, identity);
    const isUnchanged = ({ roleid }: Admitted): Promise<boolean> =>
      limited(() => isAsProvisioned(pool, provisioning, identity, roleid));
    if (known !== undefined && (await isUnchanged(known))) return known;
    const names = known === undefined ? await this.#renderNames(provisioning, identity) : NO_NAMES;
    return limited(() =>
      inTransaction(pool, async (tx) => {
        await lockTenant(tx, tenantid);
        if (!(await isOfVersion(tx, { ...identity, version }, true))) throw changed();
        return provision(tx, identity, given, names);
      }),
    );
  }

  /**
   * What `admit` would do, in a transaction that is rolled back.
   * Throws AppError OIDC_ROLE_NOT_MAPPED, OIDC_NOT_ADMITTED, OIDC_PROVIDER_ERROR, TENANT_SUSPENDED, TOO_BUSY.
   */
  async rehearse(
    { provisioning }: Pick<OidcRegistration, 'provisioning'>,
    from: Identity,
  ): Promise<RehearsedRole> {
    const { tenantid } = from;
    const { pool } = this.deps.database;
    const known = await findMapped(pool, from);
    const identity = provisioning
      ? await withClaims(from, claimsRead(provisioning, known === undefined))
      : from;
    if (provisioning) requireAdmitted(provisioning, identity);
    const names =
      provisioning && known === undefined ? await this.#renderNames(provisioning, identity) : NO_NAMES;
    const rehearsed = this.#limiter.run(tenantid, () =>
      inTransaction(pool, async (tx): Promise<never> => {
        await lockTenant(tx, tenantid);
        throw new Rehearsed(
          await readRehearsed(tx, (await provision(tx, identity, undefined, names)).roleid),
        );
      }),
    );
    const role = await rehearsed.catch((error: unknown) => {
      if (error instanceof Rehearsed) return error.role;
      throw error;
    });
    const { rowCount } = await pool.query('select from rowpost.role where roleid = $1', [role.roleid]);
    return rowCount === 0 ? { ...role, roleid: null } : role;
  }

  /** Throws AppError OIDC_NOT_ADMITTED. */
  async #renderNames({ name, login }: Provisioning, { tenantid, claims }: Identity): Promise<Names> {
    const sources = Object.entries({ name, login }).filter(([, source]) => source !== null);
    const outcomes = await this.deps.templates.render({
      tenantid,
      contextJson: JSON.stringify({ claims }),
      templates: sources.map(([field, source]) => ({
        name: field,
        source: source ?? '',
        syntax: 'jinja2',
        mode: 'text',
      })),
    });
    const rendered = new Map<string, string>();
    for (const [index, [field]] of sources.entries()) {
      const outcome = outcomes[index];
      if (!outcome?.ok) throw notAdmitted(`The template of ${field} fails with this person's claims.`);
      const text = outcome.output.trim();
      if (text !== '') rendered.set(field, text);
    }
    return { name: rendered.get('name') ?? null, login: rendered.get('login') ?? null };
  }
}

/** Rolls a rehearsal back. */
class Rehearsed extends Error {
  constructor(readonly role: RehearsedRole) {
    super('rehearsed');
  }
}

async function readRehearsed(db: StatementRunner, roleid: number): Promise<RehearsedRole> {
  const { rows } = await db.query<RehearsedRole>(
    'select roleid, login, name, parentid, capabilities, classes from rowpost.role where roleid = $1',
    [roleid],
  );
  const [role] = rows;
  if (!role) throw new Error('a role that signs in is missing');
  return role;
}

/** Whether a role that signs in is in the classes of its groups already. Throws AppError OIDC_NOT_ADMITTED. */
async function isAsProvisioned(
  db: StatementRunner,
  provisioning: Provisioning,
  identity: Identity,
  roleid: number,
): Promise<boolean> {
  const { tenantid, confid, claims } = identity;
  const member = { tenantid, confid, roleid, groups: groupsOf(provisioning, claims) };
  const parent = await readParent(db, tenantid, provisioning.parentid);
  return isInExactly(db, member, await groupClassesOf(db, member, parent));
}

/**
 * Finds, links or makes the role, and puts it into its classes. All is read again, now that the tenant's settings can't change: another
 * sign-in may have made the role, and the provisioning may have changed. Throws AppError OIDC_ROLE_NOT_MAPPED, OIDC_NOT_ADMITTED.
 */
async function provision(
  db: StatementRunner,
  identity: Identity,
  given: Admitted | undefined,
  names: Names,
): Promise<Admitted> {
  const { tenantid, confid, claims } = identity;
  const known = given ?? (await findMapped(db, identity));
  const provisioning = await readRow(db, oidcProvisioning, { tenantid, confid });
  if (!provisioning) return known ?? fail(notMapped('No role is mapped to this identity.'));
  requireAdmitted(provisioning, identity);
  const groups = groupsOf(provisioning, claims);
  const parent = await readParent(db, tenantid, provisioning.parentid);
  const found = known ?? (await findOrMakeRole(db, provisioning, identity, parent, names));
  const member = { tenantid, confid, roleid: found.roleid, groups };
  const change = await setGroupClasses(db, member, await groupClassesOf(db, member, parent));
  const event = { tenantid, confid, roleid: found.roleid };
  if (known === undefined) await recordSignInEvents(db, [{ kind: 'provisioned', ...event }]);
  else if (change !== undefined)
    await recordSignInEvents(db, [{ kind: 'classes_changed', reason: change, ...event }]);
  return found;
}

/** Throws AppError OIDC_NOT_ADMITTED. */
async function findOrMakeRole(
  db: StatementRunner,
  provisioning: Provisioning,
  identity: Identity,
  parent: Principal | undefined,
  names: Names,
): Promise<Admitted> {
  if (!parent) throw notAdmitted('The role below which roles are made is gone.');
  return (
    (await linkRole(db, provisioning, identity, parent)) ??
    (await makeRole(db, provisioning, identity, parent, names))
  );
}

/** Throws AppError TENANT_SUSPENDED. @returns undefined if it is gone: whoever may delete it must not lock out those who have a role */
async function readParent(
  db: StatementRunner,
  tenantid: number,
  parentid: number,
): Promise<Principal | undefined> {
  const parent = await readPrincipal(db, tenantid, parentid);
  if (parent?.isSuspended) throw new AppError('TENANT_SUSPENDED', 'The tenant is suspended.');
  return parent && !isAnonymous(parent) ? parent : undefined;
}

const changed = (): AppError =>
  new AppError(
    'OIDC_STATE_INVALID',
    `The provider has been changed meanwhile. ${ERROR_CODES.OIDC_STATE_INVALID[1]}`,
  );

function fail(error: Error): never {
  throw error;
}
