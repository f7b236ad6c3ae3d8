import type { TemplatePool } from 'rowpost-jinja2';
import { inTransaction } from '../../db/pool/inTransaction.js';
import {
  isAnonymous,
  readPrincipal,
  TOKENS_VALID_FROM_MS,
  type Principal,
} from '../../db/roles/principal.js';
import { recordSignInEvents } from '../../db/roles/signIn/signInEvents.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError, ERROR_CODES } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { readRow } from '../derive/rows.js';
import { lockTenant } from '../lockTenant.js';
import { oidcProvisioning } from '../objects/oidcProvisioning.js';
import { holds } from '../permissions.js';
import { classesAtCreation } from '../roles/createRole.js';
import { findExcess } from '../roles/findExcess.js';
import { requireStorableLogin } from '../roles/rolePermissions.js';
import { endSessions, insertRole, isBelow } from '../roles/roles.js';
import { requirePlainLogin } from '../roles/signUp.js';
import { bumpPolicyVersion } from '../tenants/tenants.js';
import type { Services } from '../services.js';
import { completeClaims, isLeftOut, isMissing, textsOf, verifiedEmail, type Claims } from './claims.js';
import { isOfVersion, type OidcRegistration } from './oidcRegistration.js';
import type { RehearsedRole } from './oidcSetUp.js';
import { groupClassesOf, isIn, isInExactly, setGroupClasses } from './groupClasses.js';

/** Somebody whom a provider has identified, at a sign-in through a configuration. */
export interface Identity {
  readonly tenantid: number;
  readonly confid: number;
  readonly providerid: number;
  /** The claim that the provider's `comparison_field` names. */
  readonly subId: string;
  /** Whether that is an email address. */
  readonly isAddress: boolean;
  readonly claims: Claims;
  /** Those that the provider has elsewhere; undefined if it has none. */
  readonly readMore: () => Promise<Claims | undefined>;
  /** Whether addresses count without `email_verified`. */
  readonly emailAlwaysVerified: boolean;
}

/** The role that signs in, if it is still in this state: what ends its sessions ends a sign-in under way. */
export interface Admitted {
  readonly roleid: number;
  readonly tokensValidFromMs: number;
}

type Provisioning = NonNullable<OidcRegistration['provisioning']>;

export interface ProvisionerDeps extends Pick<Services, 'config' | 'database'> {
  readonly templates: Pick<TemplatePool, 'render'>;
}

/** Of one tenant in a process: each has a connection of the service, and reads roles that may have a megabyte of rules. */
const LIMITS = { perTenant: 2, waiting: 200 };
const MAX_NAME_CHARACTERS = 200;

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
    const find = (): Promise<Admitted | undefined> => findMapped(pool, from);
    const known = given ?? (await (from.isAddress ? limited(find) : find()));
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
   * Throws AppError OIDC_ROLE_NOT_MAPPED, OIDC_NOT_ADMITTED, TENANT_SUSPENDED, TOO_BUSY.
   */
  async rehearse(
    { provisioning }: Pick<OidcRegistration, 'provisioning'>,
    identity: Identity,
  ): Promise<RehearsedRole> {
    const { tenantid } = identity;
    const { pool } = this.deps.database;
    if (provisioning) requireAdmitted(provisioning, identity);
    const known = await findMapped(pool, identity);
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

/** The paths of the claims that a sign-in reads; more if it makes a role. */
export function claimsRead(provisioning: Provisioning, isNew: boolean): readonly string[] {
  const { groups_claim, required_claim, email_domains, link_by_email, name, login } = provisioning;
  const readsEmail = email_domains.length > 0 || (isNew && link_by_email);
  const templates = isNew ? `${name ?? ''} ${login ?? ''}` : '';
  const named = [...templates.matchAll(/\bclaims(?:\.|\[\s*["'])([\w-]+)/g)].map(([, claim = '']) => claim);
  return [groups_claim, required_claim, ...(readsEmail ? ['email', 'email_verified'] : []), ...named].filter(
    (path) => path !== null,
  );
}

/** With those that the ID token has not, if one of them is needed. Throws AppError OIDC_PROVIDER_ERROR. */
async function withClaims(identity: Identity, needed: readonly string[]): Promise<Identity> {
  const { claims, readMore } = identity;
  if (!needed.some((path) => isMissing(claims, path))) return identity;
  const more = await readMore();
  return more ? { ...identity, claims: completeClaims(claims, more) } : identity;
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

interface Names {
  readonly name: string | null;
  readonly login: string | null;
}

const NO_NAMES: Names = { name: null, login: null };

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
  const isChanged = await setGroupClasses(db, member, await groupClassesOf(db, member, parent));
  const event = { tenantid, confid, roleid: found.roleid };
  if (known === undefined) await recordSignInEvents(db, [{ kind: 'provisioned', ...event }]);
  else if (isChanged) await recordSignInEvents(db, [{ kind: 'classes_changed', ...event }]);
  if (isChanged || known === undefined) await bumpPolicyVersion(db, tenantid);
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

/** The role of the identity: of an address as the provider spells it, otherwise of the same in another case. Throws AppError OIDC_ROLE_NOT_MAPPED. */
async function findMapped(db: StatementRunner, identity: Identity): Promise<Admitted | undefined> {
  const role = await findSpelled(db, identity, false);
  return role ?? (identity.isAddress ? findSpelled(db, identity, true) : undefined);
}

/**
 * The role that root, an admin or a sign-in has mapped the identity to. Others may map theirs to anybody's, who then would sign in as a
 * role that somebody else has the password of. Throws AppError OIDC_ROLE_NOT_MAPPED if there are several, or only deleted ones, which are
 * not made again.
 * @param inAnyCase reads all mappings of the configuration
 */
async function findSpelled(
  db: StatementRunner,
  { tenantid, confid, subId }: Identity,
  inAnyCase: boolean,
): Promise<Admitted | undefined> {
  const { rows: roles } = await db.query<Admitted & { readonly deleted: boolean }>(
    `select r.roleid, r.deleted, ${TOKENS_VALID_FROM_MS} as "tokensValidFromMs"
     from rowpost.role_oidc m join rowpost.role r using (tenantid, roleid) join rowpost.tenant t using (tenantid)
     where m.tenantid = $1 and m.confid = $2
       and (m.sub_id = $3 or $4 and lower(m.sub_id collate "C") = lower($3 collate "C"))
       and (m.creatorid is null or exists (
         select from rowpost.role c
         where c.tenantid = m.tenantid and c.roleid = m.creatorid
           and (c.roleid = t.root_roleid or 'admin' = any (c.capabilities))))
     order by r.deleted limit 2`,
    [tenantid, confid, subId, inAnyCase],
  );
  const [role, ...others] = roles.filter(({ deleted }) => !deleted);
  if (others.length > 0)
    throw notMapped('Several roles are mapped to this identity: sign in as one of them.');
  if (!role && roles.length > 0) throw notMapped('The role of this identity has been deleted.');
  return role;
}

async function inItsState(db: StatementRunner, roleid: number): Promise<Admitted> {
  const { rows } = await db.query<Admitted>(
    `select r.roleid, ${TOKENS_VALID_FROM_MS} as "tokensValidFromMs" from rowpost.role r where r.roleid = $1`,
    [roleid],
  );
  return rows[0] ?? fail(new Error('the role is gone'));
}

/** At every sign-in: who has left is out. Throws AppError OIDC_NOT_ADMITTED. */
function requireAdmitted(
  { email_domains: domains, required_claim: claim, required_value: value }: Provisioning,
  { claims, emailAlwaysVerified }: Identity,
): void {
  if (domains.length > 0) {
    const domain = verifiedEmail(claims, emailAlwaysVerified)?.split('@').at(-1)?.toLowerCase();
    if (domain === undefined || !domains.includes(domain))
      throw notAdmitted('Only people with a verified address of certain domains are let in.');
  }
  if (claim !== null) requireWhole(claims, claim);
  if (claim !== null && !textsOf(claims, claim).includes(value ?? ''))
    throw notAdmitted(`The claim "${claim}" does not let this person in.`);
}

function groupsOf({ groups_claim: path }: Provisioning, claims: Claims): readonly string[] {
  if (path === null) return [];
  requireWhole(claims, path);
  return textsOf(claims, path);
}

/** Throws AppError OIDC_NOT_ADMITTED: with a part of the groups, a role would have too few rights or too many. */
function requireWhole(claims: Claims, path: string): void {
  if (!isLeftOut(claims, path)) return;
  throw notAdmitted(
    `The person has more groups than the provider puts into the claim "${path}".`,
    'At the provider, have the claim hold only the groups that are assigned to the application, or application roles instead.',
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

/** A role whose login root or an admin made the person's address, and which is mapped to no identity of the provider. */
async function linkRole(
  db: StatementRunner,
  { link_by_email: isLinking, parentid }: Provisioning,
  identity: Identity,
  parent: Principal,
): Promise<Admitted | undefined> {
  const { tenantid, providerid, claims, emailAlwaysVerified } = identity;
  const email = verifiedEmail(claims, emailAlwaysVerified);
  if (!isLinking || email === undefined) return undefined;
  const { rows } = await db.query<{ roleid: number }>(
    `select r.roleid from rowpost.role r
     where r.tenantid = $1 and not r.deleted and lower(r.admin_login collate "C") = lower($2 collate "C")
       and r.login = r.admin_login
       and not exists (
         select from rowpost.role_oidc m join rowpost.oidc_config c using (confid)
         where m.roleid = r.roleid and c.providerid = $3)`,
    [tenantid, email, providerid],
  );
  const [role] = rows;
  if (!role || !(await isBelow(db, role.roleid, parentid))) return undefined;
  const { roleid } = role;
  if (!parent.isAdmin && (await findExcess(db, tenantid, roleid, { than: parentid, below: false })))
    return undefined;
  await insertMapping(db, identity, roleid);
  await endSessions(db, [roleid]);
  return inItsState(db, roleid);
}

/** Throws AppError OIDC_NOT_ADMITTED. */
async function makeRole(
  db: StatementRunner,
  { parentid, capabilities, classes, seats }: Provisioning,
  identity: Identity,
  parent: Principal,
  { name, login }: Names,
): Promise<Admitted> {
  const { tenantid, confid } = identity;
  if (seats !== null && (await countRoles(db, tenantid, confid)) >= seats)
    throw notAdmitted('All seats are taken.');
  const given = [...classes.filter(isIn(parent)), ...(await classesAtCreation(db, tenantid, parentid))];
  try {
    if (login !== null) {
      requireStorableLogin(login);
      requirePlainLogin(login);
    }
    const roleid = await insertRole(db, {
      tenantid,
      login,
      name: name === null ? null : Array.from(name).slice(0, MAX_NAME_CHARACTERS).join(''),
      passwordHash: null,
      parentid,
      classes: [...new Set(given)],
      capabilities: capabilities.filter((capability) => holds(parent, capability)),
      creatorid: null,
    });
    await insertMapping(db, identity, roleid);
    return await inItsState(db, roleid);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw notAdmitted(`A role for this person can't be made: ${error.message}`);
  }
}

async function insertMapping(
  db: StatementRunner,
  { tenantid, confid, subId }: Identity,
  roleid: number,
): Promise<void> {
  await db.query('insert into rowpost.role_oidc (tenantid, roleid, confid, sub_id) values ($1, $2, $3, $4)', [
    tenantid,
    roleid,
    confid,
    subId,
  ]);
}

async function countRoles(db: StatementRunner, tenantid: number, confid: number): Promise<number> {
  const { rows } = await db.query<{ roles: number }>(
    `select count(*)::int as roles from rowpost.role_oidc m join rowpost.role r using (tenantid, roleid)
     where m.tenantid = $1 and m.confid = $2 and not r.deleted`,
    [tenantid, confid],
  );
  return rows[0]?.roles ?? 0;
}

/** As `oidcFailure`: the message includes what to do, since the response has no field for a hint. */
const notAdmitted = (what: string, hint = 'Ask an administrator of the tenant.'): AppError =>
  new AppError('OIDC_NOT_ADMITTED', `${what} ${hint}`, { hint });

const notMapped = (what: string, hint = 'Ask an administrator of the tenant.'): AppError =>
  new AppError('OIDC_ROLE_NOT_MAPPED', `${what} ${hint}`, { hint });

const changed = (): AppError =>
  new AppError(
    'OIDC_STATE_INVALID',
    `The provider has been changed meanwhile. ${ERROR_CODES.OIDC_STATE_INVALID[1]}`,
  );

function fail(error: Error): never {
  throw error;
}
