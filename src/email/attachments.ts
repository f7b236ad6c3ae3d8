import type { EmailType } from '../db/email/emailTypes.js';
import type { StoredFile } from '../db/files/files.js';
import type { PrincipalSource } from '../db/roles/principal.js';
import { AppError } from '../foundation/errors.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { membersOf } from '../foundation/json/jsonText.js';
import { type Attachment, type EmailTrigger, type QueryOutcome, fieldProblem } from './email.js';
import { isTransient } from './transientErrors.js';

export interface AttachmentDeps {
  readonly engine: Pick<DataEngine, 'findFiles'>;
  readonly principals: Pick<PrincipalSource, 'load'>;
}

/** Each file costs a lookup under its row's policy rules. */
const MAX_ATTACHMENTS = 100;

interface NamedFile {
  readonly storagekey: string;
  /** Whether a query returned it; otherwise the event names it, so it must belong to the event's row. */
  readonly isQueried: boolean;
  readonly field: string;
}

/**
 * The files that the type attaches: `file` of an upload, those that a query returned, or the one that a column of the
 * record names. A storage key is data that anybody may have written, so it is only accepted for files of the event's own
 * row and for those that a query found under the rules of the trigger's role, which must be allowed to download each file.
 * Throws EmailProblem.
 */
export async function findAttachments(
  deps: AttachmentDeps,
  trigger: EmailTrigger,
  type: EmailType,
  queries: readonly QueryOutcome[],
  html: string,
): Promise<readonly Attachment[]> {
  const row = new Row(recordOf(trigger));
  const named = (type.attachments ?? []).flatMap((name, index) =>
    filesNamed(name, { trigger, queries, row }, `attachments[${index}]`),
  );
  const wanted = uniqueFiles(named);
  const [first] = wanted;
  if (!first) return [];
  if (wanted.length > MAX_ATTACHMENTS) {
    throw fieldProblem(
      first.field,
      'TOO_MANY_ATTACHMENTS',
      `${wanted.length} files to attach; an email takes ${MAX_ATTACHMENTS}`,
    );
  }
  const files = await loadFiles(deps, trigger, wanted);
  const shown = filesShown(html);
  return wanted.map(({ storagekey, field }) => {
    const file = files.get(storagekey);
    if (file) {
      const { filename, mimetype, size, objectkey } = file;
      return {
        filename,
        mimetype,
        size,
        objectkey,
        ...(shown.has(storagekey) && !TEXT.test(mimetype) ? { contentId: storagekey } : {}),
      };
    }
    const message = "a file is gone, is another row's, or the email's role may not download it";
    throw fieldProblem(field, 'ATTACHMENT_MISSING', message);
  });
}

/** Programs read a text that is part of the email as words of the email itself, not as a file. */
const TEXT = /^text\//i;

/** The storage keys of files that the HTML references as `cid:<storage key>`, which become part of the email. */
function filesShown(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/cid:([\w-]{1,64})/g), ([, key = '']) => key));
}

/** Deduplicated; the first mention counts. */
function uniqueFiles(named: readonly NamedFile[]): readonly NamedFile[] {
  const files = new Map<string, NamedFile>();
  for (const file of named) {
    const { storagekey, isQueried } = file;
    const known = files.get(storagekey);
    files.set(storagekey, known ? { ...known, isQueried: known.isQueried || isQueried } : file);
  }
  return [...files.values()];
}

async function loadFiles(
  { engine, principals }: AttachmentDeps,
  trigger: EmailTrigger,
  wanted: readonly NamedFile[],
): Promise<ReadonlyMap<string, StoredFile>> {
  const { tenantid, queryRoleid, target } = trigger;
  const principal = await principals.load(tenantid, queryRoleid);
  if (!principal)
    throw fieldProblem('attachments', 'QUERY_ROLE_MISSING', "the role that reads the email's files is gone");
  const keys = (isQueried: boolean): readonly string[] =>
    wanted.filter((file) => file.isQueried === isQueried).map(({ storagekey }) => storagekey);
  const ofRow = { target: target ?? '', record: recordOf(trigger) };
  try {
    const found = await Promise.all([
      engine.findFiles(principal, 'download', keys(true)),
      engine.findFiles(principal, 'download', keys(false), ofRow),
    ]);
    return new Map(found.flat().flatMap((file) => (file ? [[file.storagekey, file]] : [])));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw fieldProblem('attachments', error.code, error.message, isTransient(error) ? 'retry' : 'failed');
  }
}

/** Empty if the record or the results name no file. */
function filesNamed(
  name: string,
  {
    trigger,
    queries,
    row,
  }: { readonly trigger: EmailTrigger; readonly queries: readonly QueryOutcome[]; readonly row: Row },
  field: string,
): readonly NamedFile[] {
  if (name === 'file') {
    const file = JSON.parse(trigger.file ?? 'null') as { readonly storagekey: string } | null;
    return file ? [{ storagekey: file.storagekey, isQueried: false, field }] : [];
  }
  const query = queries.find(({ outvar }) => outvar === name);
  if (query) {
    const files = query.ok ? query.files : [];
    return files.map((storagekey) => ({ storagekey, isQueried: true, field }));
  }
  const json = row.member(name);
  if (json === undefined) {
    throw fieldProblem(
      'attachments',
      'ATTACHMENT_UNKNOWN',
      `neither a query nor a column is named "${name}"`,
    );
  }
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' && value !== '' ? [{ storagekey: value, isQueried: false, field }] : [];
}

/** The event's row, which may have megabytes: its members are found once, and only if a column is named. */
class Row {
  #members: ReadonlyMap<string, { readonly start: number; readonly end: number }> | undefined;

  constructor(private readonly record: string) {}

  /** The column's value as JSON text. */
  member(name: string): string | undefined {
    this.#members ??= new Map(membersOf(this.record).map((member) => [member.name, member]));
    const found = this.#members.get(name);
    return found && this.record.slice(found.start, found.end);
  }
}

/** The event's row as JSON text. */
function recordOf({ new: changed, old }: EmailTrigger): string {
  return changed ?? old ?? 'null';
}
