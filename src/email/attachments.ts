import type { EmailType } from '../db/delivery/emailTypes.js';
import type { StoredFile } from '../db/files/files.js';
import type { PrincipalSource } from '../db/principal.js';
import { AppError } from '../errors.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { EmailProblem, type Attachment, type Occasion, type QueryOutcome } from './email.js';
import { isTransient } from './transientErrors.js';

export interface AttachmentDeps {
  readonly engine: Pick<DataEngine, 'findFiles'>;
  readonly principals: Pick<PrincipalSource, 'load'>;
}

/** A mail's files are looked up one by one, each with the rules of its row. */
const MOST_ATTACHMENTS = 100;

/**
 * The files that the type attaches: `file`, of an upload; those among a query's results; or the one that a column of the
 * record names. The occasion's role must be allowed to download each. Throws EmailProblem.
 */
export async function findAttachments(
  deps: AttachmentDeps,
  occasion: Occasion,
  type: EmailType,
  queries: readonly QueryOutcome[],
): Promise<readonly Attachment[]> {
  const names = type.attachments ?? [];
  const named = names.flatMap((name, index) =>
    storagekeysOf(name, occasion, queries).map((storagekey) => ({
      storagekey,
      field: `attachments[${index}]`,
    })),
  );
  if (named.length === 0) return [];
  const wanted = new Map(named.map(({ storagekey, field }) => [storagekey, field]));
  const [first] = wanted.values();
  if (wanted.size > MOST_ATTACHMENTS) {
    throw problem(
      'TOO_MANY_ATTACHMENTS',
      first ?? 'attachments',
      `${wanted.size} files to attach; a mail takes ${MOST_ATTACHMENTS}`,
    );
  }
  const files = await loadFiles(deps, occasion, [...wanted.keys()]);
  return [...wanted.values()].map((field, index) => {
    const file = files[index];
    if (file) return toAttachment(file);
    throw problem('ATTACHMENT_MISSING', field, "a file is gone, or the email's role may not download it");
  });
}

async function loadFiles(
  { engine, principals }: AttachmentDeps,
  { tenantid, queryRoleid }: Occasion,
  storagekeys: readonly string[],
): Promise<readonly (StoredFile | undefined)[]> {
  const principal = await principals.load(tenantid, queryRoleid);
  if (!principal)
    throw problem('QUERY_ROLE_MISSING', 'attachments', "the role that reads the email's files is gone");
  try {
    return await engine.findFiles(principal, 'download', storagekeys);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw problem(error.code, 'attachments', error.message, isTransient(error) ? 'retry' : 'failed');
  }
}

/** None where the record or the results name no file. */
function storagekeysOf(
  name: string,
  { file, new: changed, old }: Occasion,
  queries: readonly QueryOutcome[],
): readonly string[] {
  if (name === 'file') return fileObjects(JSON.parse(file ?? 'null'));
  const query = queries.find(({ outvar }) => outvar === name);
  if (query) return query.ok ? fileObjects(JSON.parse(query.json)) : [];
  const record = JSON.parse(changed ?? old ?? 'null') as Readonly<Record<string, unknown>> | null;
  if (!record || !Object.hasOwn(record, name)) {
    throw problem('ATTACHMENT_UNKNOWN', 'attachments', `neither a query nor a column is named "${name}"`);
  }
  const value = record[name];
  return typeof value === 'string' && value !== '' ? [value] : [];
}

/** The storage keys of all file objects in a result, in its order. */
function fileObjects(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { storagekey } = value as { storagekey?: unknown };
  if (typeof storagekey === 'string') return [storagekey];
  return Object.values(value).flatMap(fileObjects);
}

function toAttachment({ filename, mimetype, size, objectkey }: StoredFile): Attachment {
  return { filename, mimetype, size, objectkey };
}

function problem(
  code: string,
  field: string,
  message: string,
  kind: EmailProblem['kind'] = 'failed',
): EmailProblem {
  return new EmailProblem(kind, { code, field, message: `${field}: ${message}` });
}
