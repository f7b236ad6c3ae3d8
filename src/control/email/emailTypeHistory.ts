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
  const { rows } = await context.db.query<{ version: number }>(
    'select version from rowpost.email_types where tenantid = $1 and email_type = $2',
    keyOf(context, emailType),
  );
  const [row] = rows;
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
    to_jsonb(t) - array['tenantid', 'email_type', 'version', 'creatorid', 'createtime', 'layout_names', 'any_layout'], $3::int
  from rowpost.email_types t where t.tenantid = $1 and t.email_type = $2
  on conflict do nothing`;
const TRIM = `
  delete from rowpost.email_type_version v using rowpost.email_types t
  where v.tenantid = $1 and v.email_type = $2 and t.tenantid = v.tenantid and t.email_type = v.email_type
    and v.version between 1 and t.version - ${MAX_VERSIONS}`;

/** Called before a change: a version that a changed layout made is not recorded yet. */
export async function recordCurrentVersion(context: ControlContext, emailType: string): Promise<void> {
  await context.db.query(RECORD, [...keyOf(context, emailType), null]);
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
    if (before !== undefined)
      await context.db.query(
        'update rowpost.email_type_version set email_type = $3 where tenantid = $1 and email_type = $2',
        [...keyOf(context, before), emailType],
      );
  }
  await deleteDraft(context, emailType);
  await context.db.query(RECORD, [...key, context.principal.roleid]);
  await context.db.query(TRIM, key);
}

/** Called when a name becomes free, and before it is reused. */
export async function deleteVersions(context: ControlContext, emailType: string): Promise<void> {
  await context.db.query(
    'delete from rowpost.email_type_version where tenantid = $1 and email_type = $2',
    keyOf(context, emailType),
  );
}

const DRAFT = 0;

/** Drafts are not validated, so that their number is not bounded by that of anything else. */
const MAX_DRAFTS = { ofTenant: 1_000, ofRole: 250, bytes: 20_000_000 };

/** Saves a draft, valid or not. It is not live. Throws AppError BAD_USER_INPUT for more than a tenant may have. */
export async function saveDraft(context: ControlContext, emailType: string, input: object): Promise<void> {
  await requireDraftQuota(context, emailType, JSON.stringify(input).length);
  await context.db.query(
    `insert into rowpost.email_type_version (tenantid, email_type, version, content, creatorid)
     values ($1, $2, ${DRAFT}, $3, $4)
     on conflict (tenantid, email_type, version) do update
     set content = excluded.content, creatorid = excluded.creatorid, createtime = now()`,
    [...keyOf(context, emailType), JSON.stringify(input), context.principal.roleid],
  );
}

/** @returns undefined if there is none */
export async function readDraft(context: ControlContext, emailType: string): Promise<object | undefined> {
  const { rows } = await context.db.query<{ content: object }>(
    `select content from rowpost.email_type_version where tenantid = $1 and email_type = $2 and version = ${DRAFT}`,
    keyOf(context, emailType),
  );
  return rows[0]?.content;
}

async function requireDraftQuota(context: ControlContext, emailType: string, size: number): Promise<void> {
  const { ofTenant, ofRole, bytes } = MAX_DRAFTS;
  const { rows } = await context.db.query<{ drafts: number; own: number; bytes: number }>(
    `select count(*)::int as drafts, (count(*) filter (where creatorid = $3))::int as own,
       coalesce(sum(pg_column_size(content)), 0)::float8 as bytes
     from rowpost.email_type_version where tenantid = $1 and email_type <> $2 and version = ${DRAFT}`,
    [...keyOf(context, emailType), context.principal.roleid],
  );
  const [others] = rows;
  if (!others) return;
  if (others.drafts >= ofTenant) throw badInput('email_type', `A tenant has at most ${ofTenant} drafts.`);
  if (others.own >= ofRole) throw badInput('email_type', `A role has at most ${ofRole} drafts.`);
  if (size + others.bytes > bytes)
    throw badInput('input', `A tenant's drafts take at most ${bytes} bytes together.`);
}

/** @returns whether there was one */
export async function deleteDraft(context: ControlContext, emailType: string): Promise<boolean> {
  const { rowCount } = await context.db.query(
    `delete from rowpost.email_type_version where tenantid = $1 and email_type = $2 and version = ${DRAFT}`,
    keyOf(context, emailType),
  );
  return rowCount !== 0;
}

function keyOf({ principal }: ControlContext, emailType: string): [tenantid: number, emailType: string] {
  return [principal.tenantid, emailType];
}
