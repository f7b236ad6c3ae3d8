import { AppError } from '../../errors.js';
import type { ControlContext } from '../controlContext.js';

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

/** Called before a change: an email type that was saved by an earlier release has no version yet. */
export async function recordFirstVersion(context: ControlContext, emailType: string): Promise<void> {
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

/** Saves a draft, valid or not. It is not live. */
export async function saveDraft(context: ControlContext, emailType: string, input: object): Promise<void> {
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
