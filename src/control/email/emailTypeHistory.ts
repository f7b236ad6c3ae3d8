import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';

/**
 * Prevents a save from overwriting one that its author has not seen. Throws AppError EMAIL_TYPE_CHANGED.
 * @param basedOn the version that the author read; null to overwrite any version
 */
export async function requireUnchanged(
  context: ControlContext,
  emailType: string,
  basedOn: number | null | undefined,
): Promise<void> {
  if (basedOn == null) return;
  const row = await context
    .db('rowpost.email_types')
    .where(keyOf(context, emailType))
    .first<{ version: number } | undefined>('version');
  if (row?.version === basedOn) return;
  throw new AppError('EMAIL_TYPE_CHANGED', 'The email type has been saved since it was read.', {
    details: { email_type: emailType, ...(row ? { version: row.version } : {}) },
  });
}

/** Versions kept per email type. */
const MAX_VERSIONS = 100;

const RECORD = `
  insert into rowpost.email_type_version (tenantid, email_type, version, content, creatorid)
  select t.tenantid, t.email_type, t.version,
    to_jsonb(t) - array['tenantid', 'email_type', 'version', 'creatorid', 'createtime', 'layout_names', 'any_layout'], :creatorid
  from rowpost.email_types t where t.tenantid = :tenantid and t.email_type = :email_type
  on conflict do nothing`;
const TRIM = `
  delete from rowpost.email_type_version v using rowpost.email_types t
  where v.tenantid = :tenantid and v.email_type = :email_type and t.tenantid = v.tenantid and t.email_type = v.email_type
    and v.version between 1 and t.version - ${MAX_VERSIONS}`;

/** Called before a change: a version that a changed layout made is not recorded yet. */
export async function recordCurrentVersion(context: ControlContext, emailType: string): Promise<void> {
  await context.db.raw(RECORD, { ...keyOf(context, emailType), creatorid: null });
}

/** Records the email type as just saved, and deletes its draft. */
export async function recordVersion(
  context: ControlContext,
  emailType: string,
  before: string | undefined,
): Promise<void> {
  const key = keyOf(context, emailType);
  if (before !== emailType) {
    await deleteVersions(context, emailType);
    if (before !== undefined) await versionsOf(context, before).update({ email_type: emailType });
  }
  await deleteDraft(context, emailType);
  await context.db.raw(RECORD, { ...key, creatorid: context.principal.roleid });
  await context.db.raw(TRIM, key);
}

/** Called when a name becomes free, and before it is reused. */
export async function deleteVersions(context: ControlContext, emailType: string): Promise<void> {
  await versionsOf(context, emailType).delete();
}

const DRAFT = 0;

/** Drafts are not validated, so that their number is not bounded by that of anything else. */
const MAX_DRAFTS = { ofTenant: 1_000, ofRole: 250, bytes: 20_000_000 };

/** Saves a draft, valid or not. It is not live. Throws AppError BAD_USER_INPUT for more than a tenant may have. */
export async function saveDraft(context: ControlContext, emailType: string, input: object): Promise<void> {
  await requireDraftQuota(context, emailType, JSON.stringify(input).length);
  await context
    .db('rowpost.email_type_version')
    .insert({
      ...keyOf(context, emailType),
      version: DRAFT,
      content: JSON.stringify(input),
      creatorid: context.principal.roleid,
    })
    .onConflict(['tenantid', 'email_type', 'version'])
    .merge({
      content: JSON.stringify(input),
      creatorid: context.principal.roleid,
      createtime: context.db.fn.now(),
    });
}

async function requireDraftQuota(context: ControlContext, emailType: string, size: number): Promise<void> {
  const { db, principal } = context;
  const { ofTenant, ofRole, bytes } = MAX_DRAFTS;
  const [others]: { drafts: number; own: number; bytes: number }[] = await db('rowpost.email_type_version')
    .where({ tenantid: principal.tenantid, version: DRAFT })
    .whereNot({ email_type: emailType })
    .select(
      db.raw('count(*)::int as drafts'),
      db.raw('(count(*) filter (where creatorid = ?))::int as own', [principal.roleid]),
      db.raw('coalesce(sum(pg_column_size(content)), 0)::float8 as bytes'),
    );
  if (!others) return;
  if (others.drafts >= ofTenant) throw badInput('email_type', `A tenant has at most ${ofTenant} drafts.`);
  if (others.own >= ofRole) throw badInput('email_type', `A role has at most ${ofRole} drafts.`);
  if (size + others.bytes > bytes)
    throw badInput('input', `A tenant's drafts take at most ${bytes} bytes together.`);
}

/** @returns whether there was one */
export async function deleteDraft(context: ControlContext, emailType: string): Promise<boolean> {
  return (await versionsOf(context, emailType).where({ version: DRAFT }).delete()) > 0;
}

function versionsOf(context: ControlContext, emailType: string) {
  return context.db('rowpost.email_type_version').where(keyOf(context, emailType));
}

function keyOf({ principal }: ControlContext, emailType: string) {
  return { tenantid: principal.tenantid, email_type: emailType };
}
