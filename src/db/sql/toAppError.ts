import pg from 'pg';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { namesOf, type Description, type ErrorLocation } from './description.js';
import { describeFailedCode, failedFunction } from './failedCode.js';
import { describeRaised } from './raisedError.js';
import {
  INSUFFICIENT_PRIVILEGE,
  isRaised,
  LOCK_NOT_AVAILABLE,
  READ_ONLY,
  REFUSED,
  TOO_LONG,
  type Refusal,
} from './sqlState.js';

/**
 * The public form of a database error: a code, and names of the caller's own tables and columns. Never SQL, and only
 * values that the caller sent.
 */
export function toAppError(
  error: unknown,
  placeOf: (error: pg.DatabaseError) => ErrorLocation = locationIn,
): AppError {
  if (error instanceof AppError) return error;
  if (isBug(error)) return new AppError('INTERNAL_ERROR', 'The request failed.', { cause: error });
  if (!(error instanceof pg.DatabaseError)) {
    return new AppError('DATABASE_UNAVAILABLE', 'The database connection broke.', { cause: error });
  }
  const [code, message, details, hint] = describe(error, placeOf(error));
  return new AppError(code, message, { hint, details, cause: error });
}

/** Whether it is a bug in our own code: a broken connection throws a plain Error. */
function isBug(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}

export type { ErrorLocation } from './description.js';
export type PostgresError = pg.DatabaseError;

/** As far as the error itself reports them. */
export function locationIn(error: PostgresError): ErrorLocation {
  if (isStillReferenced(error)) return { table: error.table, columns: [] };
  return { table: error.table, columns: error.column === undefined ? keyColumns(error) : [error.column] };
}

function describe(error: pg.DatabaseError, place: ErrorLocation): Description {
  if (isRaised(error)) return describeRaised(error, place);
  const state = error.code ?? '';
  if (isOfParameter(error)) return ['BAD_USER_INPUT', refusedValueWords(error)];
  const exact = ownValue(BY_STATE, state)?.(error, place);
  if (exact) return exact;
  switch (state.slice(0, 2)) {
    case '08':
    case '53':
      return ['DATABASE_UNAVAILABLE', 'The database is not available.'];
    case '22':
      return ['BAD_USER_INPUT', refusedValueWords(error)];
    case '23':
      return ['CHECK_VIOLATION', 'A constraint of the table is broken.', namesOf(error, place)];
    case '54':
      return describeFailedCode(error) ?? TOO_COMPLEX;
    case '57':
      return ['DATABASE_UNAVAILABLE', 'The database is restarting.'];
    default:
      return describeFailedCode(error) ?? ['INTERNAL_ERROR', 'The statement failed.'];
  }
}

/** Errors that a type's own code does not raise when it reads a value, and what the value breaks if it can be read. */
const NOT_OF_VALUES = /^(08|23|25|40|42501|44|53|54(?!023)|55|57|58|P0|RP|XX00[12])/;

/** Whether a type refused the text of a parameter, by whatever error code. */
export function isOfParameter(error: pg.DatabaseError): boolean {
  return parameterIn(error) > 0 && mayBeOfValue(error);
}

/** The same where PostgreSQL names no parameter, since the value is in a JSON text. */
export function mayBeOfValue(error: pg.DatabaseError): boolean {
  return !NOT_OF_VALUES.test(error.code ?? '') && !isRaised(error) && failedFunction(error) === undefined;
}

/** The number of the parameter in "unnamed portal parameter $2 = '...'"; 0 if the error is of none. */
export function parameterIn({ where }: pg.DatabaseError): number {
  return Number(/^(?:unnamed )?portal .*?parameter \$(\d+)/m.exec(where ?? '')?.[1] ?? 0);
}

export function refusedValueWords({ code = '' }: pg.DatabaseError): string {
  return ownValue(VALUE_WORDS, code) ?? 'A value in the request or in a row does not fit its type.';
}

const TOO_COMPLEX: Description = ['DOCUMENT_TOO_COMPLEX', 'The request is too complex for the database.'];

/** PostgreSQL's functions that look for the unique keys of `on conflict`, and update the existing row. */
const UPSERTS: ReadonlySet<string> = new Set([
  'ExecCheckIndexConstraints',
  'infer_arbiter_indexes',
  'ExecOnConflictUpdate',
]);

function ifUpsert(error: pg.DatabaseError, description: Description): Description | undefined {
  return UPSERTS.has(error.routine ?? '') && failedFunction(error) === undefined ? description : undefined;
}

const CANNOT_UPSERT: Description = [
  'BAD_USER_INPUT',
  "PostgreSQL can't use onconflict on a table with a deferrable or temporal key.",
  { argument: 'onconflict' },
  'Update the existing row, or create it without onconflict.',
];

/** PostgreSQL's function that chooses a row's partition. */
const FINDS_PARTITION = 'ExecFindPartition';

const BY_STATE: Readonly<
  Record<string, (error: pg.DatabaseError, place: ErrorLocation) => Description | undefined>
> = {
  '23505': (error, place) => [
    'UNIQUE_VIOLATION',
    `A row of ${place.table ?? 'the table'} with this ${place.columns.join(', ') || 'value'} already exists.`,
    namesOf(error, place),
  ],
  '23503': (error, place) =>
    isStillReferenced(error) ? stillReferenced(error, place) : missingReference(error, place),
  [TOO_LONG]: () => [
    'FILTER_TOO_COMPLEX',
    'A value of some row is too long for such an expression.',
    undefined,
    'Call fewer functions on long columns, and search for shorter texts.',
  ],
  // The column's default computes it: no value of the request would do.
  '2200H': () => [
    'TENANT_CODE_FAILED',
    'A sequence of the database has reached its last number.',
    { sqlstate: '2200H' },
    'Give the sequence, and the column that it numbers, a larger type in the database.',
  ],
  // `on delete restrict`
  '23001': (error, place) => stillReferenced(error, place),
  '23502': (error, place) => [
    'NOT_NULL_VIOLATION',
    `${place.columns[0] ?? 'A column'} of ${place.table ?? 'the table'} must have a value.`,
    namesOf(error, place),
  ],
  '23514': (error, place) => [
    'CHECK_VIOLATION',
    error.routine === FINDS_PARTITION
      ? `No partition of ${place.table ?? 'the table'} takes the row.`
      : `The row violates ${error.constraint ?? 'a check'} of ${locationName(place) ?? 'the table'}.`,
    namesOf(error, place),
  ],
  // A view's `with check option`
  '44000': (_error, place) => [
    'CHECK_VIOLATION',
    `The row violates a check of ${locationName(place) ?? 'the view'}.`,
  ],
  '23P01': (error, place) => [
    'UNIQUE_VIOLATION',
    `The row conflicts with another of ${place.table ?? 'the table'}.`,
    namesOf(error, place),
  ],
  // `raise exception` without an error code
  P0001: (error) => ['CHECK_VIOLATION', error.message],
  '21000': (error) => ifUpsert(error, ['BAD_USER_INPUT', 'The input names one row twice.']),
  '42P10': (error) => ifUpsert(error, CANNOT_UPSERT),
  '55000': (error) => ifUpsert(error, CANNOT_UPSERT),
  // PostgreSQL limits values to 1 GB.
  XX000: (error) =>
    error.message.startsWith('invalid memory alloc request size')
      ? ['DOCUMENT_TOO_COMPLEX', 'The response is larger than PostgreSQL can write.']
      : undefined,
  [INSUFFICIENT_PRIVILEGE]: (error) =>
    error.routine === CHECKS_ROW_SECURITY ? refusedBySecurity(error) : notOwned(error),
  [REFUSED]: (error) => refusalOf(error),
  '40001': () => ['TRANSACTION_CONFLICT', 'Another transaction changed the same rows.'],
  '40P01': () => ['TRANSACTION_CONFLICT', 'Two transactions waited for each other.'],
  [LOCK_NOT_AVAILABLE]: () => [
    'TRANSACTION_CONFLICT',
    'Timed out waiting for rows that another transaction has locked.',
  ],
  '0A000': (error, { table }) =>
    isOfRule(error)
      ? [
          'READ_ONLY_TABLE',
          `A rule on ${table ?? 'the table'} rewrites this change into what PostgreSQL can't run within a larger statement.`,
          table === undefined ? undefined : { table },
          'Replace the rule ("create rule") by a trigger.',
        ]
      : undefined,
  [READ_ONLY]: () => ['DATABASE_UNAVAILABLE', 'The database takes no changes at the moment.'],
  '54000': (error, place) =>
    error.message.startsWith('index row') && failedFunction(error) === undefined
      ? [
          'BAD_USER_INPUT',
          `A value is too long for an index of ${place.table ?? 'the table'}.`,
          namesOf(error, place),
        ]
      : undefined,
  // Of this statement alone: it writes more temporary files than one may.
  '53400': (error) => describeFailedCode(error) ?? TOO_COMPLEX,
  '57014': () => ['STATEMENT_TIMEOUT', 'The statement took too long and was ended.'],
};

/**
 * Our own messages for class 22: PostgreSQL's quote the value, which may come from a row that the caller may not see, if a
 * policy rule's filter computes with it.
 */
const VALUE_WORDS: Readonly<Record<string, string>> = {
  '22001': 'A text is longer than its column allows.',
  '22003': 'A number is out of the range of its type.',
  '22007': 'A text does not read as a date or time.',
  '22008': 'A date or time is out of range.',
  '22012': 'A division by zero.',
  '22026': 'A bit string has another length than its column.',
  '2201B': 'A regular expression is not valid.',
  '22021': "A text holds a character that PostgreSQL can't store.",
  '22P05': "A text holds a character that PostgreSQL can't store.",
};

/** What PostgreSQL can't do with a table that has rules (`create rule`): it reports the function that applies them. */
export function isOfRule({ code, routine }: PostgresError): boolean {
  return code === '0A000' && routine === 'RewriteQuery';
}

function refusalOf({ message, column = '' }: pg.DatabaseError): Description | undefined {
  switch (message as Refusal) {
    case 'notFound':
      return ['NOT_FOUND', 'There is no such row, or this role may not change it.'];
    case 'policyDenied':
      return ['PERMISSION_DENIED', 'No policy rule grants this change.'];
    case 'noReference':
      return ['FOREIGN_KEY_VIOLATION', `No row for ${column}, or none that this role may read.`, { column }];
    case 'responseTooLarge':
      return ['DOCUMENT_TOO_COMPLEX', 'The response is larger than MAX_RESPONSE_BYTES.'];
    case 'uploadGone':
      return ['FILE_URL_EXPIRED', 'The upload took too long, or another took its place.'];
    case 'responseNotKept':
      return [
        'DOCUMENT_TOO_COMPLEX',
        'The response is larger than 1 MiB, which is the most that is kept for an Idempotency-Key.',
        undefined,
        'Select less in the mutation, and read the rest by a query.',
      ];
    case 'requestClaimed':
      return ['IDEMPOTENCY_IN_FLIGHT', 'A request with this Idempotency-Key is in flight.'];
    default:
      return undefined;
  }
}

/** The column names in `Key (a, b)=(1, 2) already exists.`, without the values. */
function keyColumns(error: pg.DatabaseError): readonly string[] {
  const inside = /^Key \((.+?)\)=\(/.exec(error.detail ?? '')?.[1];
  return inside ? inside.split(', ').map((name) => name.replace(/^"(.*)"$/, '$1')) : [];
}

/**
 * If so, the error's table is the referencing one, and the key in its message belongs to the other table. 23001 is from
 * `on delete restrict`.
 */
function isStillReferenced({ code, detail }: pg.DatabaseError): boolean {
  return code === '23001' || (code === '23503' && detail?.includes('still referenced') === true);
}

function missingReference(error: pg.DatabaseError, place: ErrorLocation): Description {
  return [
    'FOREIGN_KEY_VIOLATION',
    `No row for ${place.columns.join(', ') || 'the foreign key'} of ${place.table ?? 'the table'}.`,
    namesOf(error, place),
    'Give the key of a row that exists.',
  ];
}

/** PostgreSQL reports the referencing table, and the key of the referenced one. */
function stillReferenced(error: pg.DatabaseError, place: ErrorLocation): Description {
  return [
    'FOREIGN_KEY_VIOLATION',
    `The row is still referenced by ${locationName(place) ?? 'another table'}.`,
    namesOf(error, place),
    'Change or delete the rows that reference it first.',
  ];
}

function locationName({ table, columns }: ErrorLocation): string | undefined {
  return table === undefined || columns.length === 0 ? table : `${table} (${columns.join(', ')})`;
}

/** PostgreSQL's function that raises row-level security violations, whose SQLSTATE is that of missing privileges. */
const CHECKS_ROW_SECURITY = 'ExecWithCheckOptions';

function refusedBySecurity({ message }: pg.DatabaseError): Description {
  const [, table] = / for table "(.+)"$/.exec(message) ?? [];
  return [
    'PERMISSION_DENIED',
    `Row level security of ${table ?? 'the table'} refuses the row.`,
    table === undefined ? {} : { table },
    "No policy rule helps: a policy of the table in the database must let the tenant's role write such rows.",
  ];
}

/** The tenant's database role lacks a grant on a table that has another owner; policy rules don't help. */
function notOwned(error: pg.DatabaseError): Description {
  const [, kind = 'An object', name] =
    /^permission denied for (table|view|materialized view|foreign table|sequence|function|schema) (.+)$/.exec(
      error.message,
    ) ?? [];
  const subject = name === undefined ? kind : `The ${kind} ${name}`;
  return [
    'PERMISSION_DENIED',
    `${subject} belongs to another database role, which has not granted this privilege to the tenant's role.`,
    kind === 'An object' ? {} : { [kind === 'view' ? 'table' : kind]: name ?? null },
    'No policy rule helps: its owner in the database grants it to the role of the tenant. "rowpost doctor" lists what was never granted.',
  ];
}
