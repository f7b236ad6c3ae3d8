import type pg from 'pg';
import { ownValue } from '../../foundation/ownValue.js';
import type { Description } from './description.js';

/**
 * An error of the tenant's own database: of a trigger, function, view, policy or default. Undefined if it may be the service's
 * or the server's. PostgreSQL's message is not repeated: it may hold names and values that the caller may not see.
 */
export function describeFailedCode(error: pg.DatabaseError): Description | undefined {
  const state = error.code ?? '';
  if (CORRUPTED.has(state)) return undefined;
  const failed = failedFunction(error);
  if (failed === undefined && !isOfSchema(error)) return undefined;
  const [cause, hint] = ownValue(CAUSES, state)?.(error) ?? [];
  const subject = failed ?? 'Code of the database';
  const message =
    cause === undefined ? `${subject} failed with SQLSTATE ${state}.` : `${subject} failed: ${cause}`;
  return ['TENANT_CODE_FAILED', message, { sqlstate: state }, hint];
}

const CORRUPTED: ReadonlySet<string> = new Set(['XX001', 'XX002']);

/** Classes of errors that no statement of the service has once PostgreSQL has parsed it: it reports a position until then. */
const OF_SCHEMA = /^(0A|20|21|23|27|2F|38|39|3F|42|44|55|HV|P0)/;

function isOfSchema({ code, position }: pg.DatabaseError): boolean {
  return position === undefined && OF_SCHEMA.test(code ?? '');
}

/** The innermost function, usually a trigger's, that the error comes from, unless it is the service's own. */
export function failedFunction({ where }: pg.DatabaseError): string | undefined {
  const [, language, name] =
    /^(?:in )?(PL\/\w+|SQL) function ([^(\n]{1,200}?)(?:\(|$| (?:line|statement|during) )/m.exec(
      where ?? '',
    ) ?? [];
  return name && !/^rowpost(_tenant)?\./.test(name)
    ? `The ${language} function ${name} of the database`
    : undefined;
}

type Cause = readonly [cause: string, hint?: string];

const COLLATIONS: Cause = [
  'it compares texts of two collations.',
  'Give both columns the same collation in the database.',
];

/** What is known of the causes, by SQLSTATE. */
const CAUSES: Readonly<Record<string, (error: pg.DatabaseError) => Cause | undefined>> = {
  '0A000': ({ message }) =>
    message.startsWith('nondeterministic collations')
      ? [
          'a function does not work with a nondeterministic collation.',
          'Compare such a column with =, or give it another collation in the database.',
        ]
      : undefined,
  '21000': () => [
    'a subquery returns more than one row where one is expected.',
    'Change the view, policy, default or function of the database that has the subquery. Or, if other tables inherit from this one, change one of the rows there that have the same key.',
  ],
  '42704': (error) => missingSetting(error),
  '42P01': () => ['it names a table that does not exist.'],
  '42703': () => ['it names a column that does not exist.'],
  '42883': () => ['it calls a function or operator that does not exist.'],
  '42P17': () => ['an object of the database is defined by itself.'],
  '42P21': () => COLLATIONS,
  '42P22': () => COLLATIONS,
  '54001': () => ['it calls itself too often.'],
  '55000': ({ message }) =>
    message.includes('has not been populated')
      ? ['a materialized view has not been populated.', 'Run "refresh materialized view" in the database.']
      : undefined,
};

function missingSetting({ routine, message }: pg.DatabaseError): Cause | undefined {
  const [, name] = routine === 'find_option' ? (/"(.+)"/.exec(message) ?? []) : [];
  if (name === undefined) return ['it names an object that does not exist.'];
  return [
    `the setting ${name} has no value.`,
    `Write current_setting('${name}', true), which is null then, or give it a value: alter role … set ${name} = ….`,
  ];
}
