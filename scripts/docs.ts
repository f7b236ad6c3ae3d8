// Writes what is written from the source: `npm run docs`.
// A test compares the files with what these functions return.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { printSchema } from 'graphql';
import { buildControlSchema } from '../src/control/controlSchema.js';
import { ERROR_CODES } from '../src/foundation/errors.js';
import { SETTINGS } from '../src/config/settings.js';
import type { Setting } from '../src/config/settings/setting.js';
import { controlObjectsPage } from './controlObjectsPage.js';
import { ERROR_EXAMPLES, EXAMPLE_TABLES } from './errorExamples.js';
import { RAISED_CODES } from '../src/db/sql/raisedError.js';
import { FAILING_REQUESTS, SQL_STATE_EXAMPLES } from './sqlStateExamples.js';

export const REFERENCE_DOCS = {
  'docs/reference/configuration.md': configurationPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/roles_pbac.md': () => controlObjectsPage(buildControlSchema()),
  'test/control/schema.graphql': () => `${printSchema(buildControlSchema())}\n`,
} as const;

function configurationPage(): string {
  const rows = Object.values<Setting<unknown>>(SETTINGS).map(({ env, fallback, fallbackText, doc }) => {
    const shown =
      fallbackText ??
      (fallback === undefined
        ? 'unset'
        : `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``);
    return `| \`${env}\` | ${shown} | ${doc} |`;
  });
  return `# Configuration

Everything is set by environment variables, read once at start. An invalid value stops the start, and all problems
are listed at once. With \`NODE_ENV=production\` every unsafe default is refused as well.

\`DATABASE_URL\`, \`DATABASE_DIRECT_URL\`, \`DATABASE_REPLICA_URLS\`, \`DIRECTORY_URL\`, \`TARGET_DATABASE_URL\`, \`REDIS_URL\`, \`SECRET_KEYS\` and \`PXADMIN_PASSWORD\` may be in files instead, as containers mount secrets:
\`<name>_FILE\` names the file.

This page is generated from \`src/config/settings.ts\` by \`npm run docs\`.

| Variable | Default | Meaning |
| --- | --- | --- |
${rows.join('\n')}
`;
}

function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [status, hint]]) => `| \`${code}\` | ${status} | ${hint} |`,
  );
  const examples = ERROR_EXAMPLES.map(({ request, message, table, column }) => {
    const where = [table, column].filter((name) => name !== undefined).map((name) => `\`${name}\``);
    return `| \`${request}\` | ${message} | ${where.join(', ')} |`;
  });
  return `# Errors

Every error has a code that stays the same between releases. GraphQL errors carry it in \`extensions.code\`, with
\`extensions.hint\`. A GraphQL request that was executed gets status 200, with its errors in \`errors\`; one that was
refused before (syntax, validation) gets the status below for clients that accept \`application/graphql-response+json\`, and
200 for those that know only \`application/json\`, as GraphQL over HTTP asks. Everything else has the body
\`{"error": "<text>", "status": <number>, "code": "<CODE>"}\` with the status below.

This page is generated from \`src/foundation/errors.ts\` by \`npm run docs\`.

| Code | Status | What to do |
| --- | --- | --- |
${rows.join('\n')}

## Errors that say where

What the database refuses is told with the table and the column, under the names that the API has for them:
\`extensions.table\` and \`extensions.column\`, and \`extensions.constraint\` for a constraint. With the tables

\`\`\`sql
${EXAMPLE_TABLES}
\`\`\`

and a table \`ledger\` that belongs to another role of the database, these requests are refused. A test sends them.

| Request | Message | Where |
| --- | --- | --- |
${examples.join('\n')}

## Errors of PostgreSQL

A test raises every SQLSTATE of PostgreSQL, and provokes the errors below. \`INTERNAL_ERROR\` and status 500 are left to errors of
the service and of the server itself: SQLSTATE classes 58 and XX outside functions of the database.

**Raised by the tenant's own code**, by \`raise\` or \`assert\` in PL/pgSQL: the message and the hint are the author's, and
\`extensions\` has \`sqlstate\`, \`detail\`, and whatever \`table\`, \`column\` and \`constraint\` the author names. Each has at most 1,000
characters. The code follows from the SQLSTATE; it is \`CHECK_VIOLATION\` for all that are not listed. If reading raises an error,
only roles that may read all rows see what the author says, since it may be about another row.

| SQLSTATE | Code |
| --- | --- |
${Object.entries(RAISED_CODES)
  .sort()
  .map(([state, code]) => `| \`${state.padEnd(5, 'x')}\` | \`${code}\` |`)
  .join('\n')}

**By PostgreSQL within the tenant's code.** Constraints and values have the codes that they have elsewhere; all else is
\`TENANT_CODE_FAILED\`, with \`sqlstate\`. Roles that may read all rows also see PostgreSQL's message, as \`detail\`. Errors of
functions in other languages than PL/pgSQL and SQL are among these, whatever they raise: PostgreSQL doesn't tell. In a trigger
\`run\` that executes them, these statements fail:

| SQLSTATE | Statement | Code | Message |
| --- | --- | --- | --- |
${SQL_STATE_EXAMPLES.map(([state, statement, code, message]) => `| \`${state}\` | \`${inTable(statement)}\` | \`${code}\` | ${message} |`).join('\n')}

**In defaults, policies, views and filters**, by the tables of \`scripts/sqlStateExamples.ts\`:

| Request | Code | Message |
| --- | --- | --- |
${FAILING_REQUESTS.map(([request, code, message]) => `| \`${request}\` | \`${code}\` | ${message} |`).join('\n')}

**Of PostgreSQL itself:**

| SQLSTATE | Code |
| --- | --- |
| \`08xxx\` \`53xxx\` \`57xxx\` \`25006\` | \`DATABASE_UNAVAILABLE\`, or \`OUTCOME_UNKNOWN\` if the connection broke during a commit |
| \`57014\` | \`STATEMENT_TIMEOUT\`, \`REQUEST_TIMEOUT\` |
| \`40001\` \`40P01\` \`55P03\` | \`TRANSACTION_CONFLICT\` |
| \`54xxx\` | \`DOCUMENT_TOO_COMPLEX\`, or \`BAD_USER_INPUT\` for a value that is too long for an index |
| \`58xxx\` \`XXxxx\` | \`INTERNAL_ERROR\` |
`;
}

const inTable = (text: string): string => text.replaceAll('|', '\\|');

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [file, render] of Object.entries(REFERENCE_DOCS)) {
    writeFileSync(new URL(`../${file}`, import.meta.url), render());
  }
}
