import { countRecentChanges, insertAuditEvent } from '../../db/roles/auditEvents.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { toPostgresText } from '../../foundation/postgresText.js';
import { rateLimited } from '../../foundation/errors.js';
import { writeJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext } from '../controlContext.js';

type Row = Readonly<Record<string, unknown>>;

/** What is recorded of a change. */
export interface ObjectChange {
  readonly object: string;
  /** `create`, `update`, `delete`, or the name of a mutation of `Utility`. */
  readonly operation: string;
  /** Null if the tenant has only one. */
  readonly key: string | null;
  /** Without secrets. Undefined if there was nothing before. */
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

/** Emails may have megabytes, and their versions are kept in full. */
const MAX_VALUE_CHARACTERS = 2_000;
/** Of a role, within an hour: events are kept for a year, and any role may change itself. */
const MAX_CHANGES = 10_000;
const RETRY_MS = 60_000;

/**
 * Writes who changed what to the audit log, in the transaction of the change. Throws AppError RATE_LIMITED.
 * @param tx that transaction
 */
export async function recordChange(
  tx: StatementRunner,
  { principal, options }: Pick<ControlContext, 'principal' | 'options'>,
  { object, operation, key, before, after }: ObjectChange,
): Promise<void> {
  await requireFewChanges(tx, principal);
  const { tenantid, roleid, login } = principal;
  await insertAuditEvent(tx, {
    tenantid,
    roleid,
    login,
    actors: options.actors ?? [],
    keyid: options.keyid ?? null,
    object,
    operation,
    key: key === null ? null : shortened(toPostgresText(key)),
    changes: writeJson(differences(before as Row | undefined, after as Row | undefined)),
  });
}

/** Not of administrators. Anonymous clients, who are one role, have limits of their own. Throws AppError RATE_LIMITED. */
async function requireFewChanges(tx: StatementRunner, principal: Principal): Promise<void> {
  if (principal.isAdmin || isAnonymous(principal)) return;
  if ((await countRecentChanges(tx, principal, MAX_CHANGES)) < MAX_CHANGES) return;
  throw rateLimited(`The role has made ${MAX_CHANGES} changes within an hour.`, RETRY_MS);
}

export interface Difference {
  readonly column: string;
  readonly before: unknown;
  readonly after: unknown;
}

function differences(before: Row = {}, after: Row = {}): readonly Difference[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((column) => {
    const [was, is] = [ownValue(before, column) ?? null, ownValue(after, column) ?? null];
    return writeJson(was) === writeJson(is) ? [] : [{ column, before: cut(was), after: cut(is) }];
  });
}

/** A value that is too long becomes the start of its text. */
function cut(value: unknown): unknown {
  if (typeof value === 'string') return shortened(toPostgresText(value));
  const json = toPostgresText(writeJson(value));
  return json.length > MAX_VALUE_CHARACTERS ? shortened(json) : value;
}

function shortened(text: string): string {
  return text.length > MAX_VALUE_CHARACTERS
    ? `${toPostgresText(text.slice(0, MAX_VALUE_CHARACTERS))}…`
    : text;
}
