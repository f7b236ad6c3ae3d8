// The part of docs/reference/errors.md about errors of PostgreSQL.
import { RAISED_CODES } from '../src/db/sql/raisedError.js';
import { FAILING_REQUESTS, SQL_STATE_EXAMPLES } from './sqlStateExamples.js';

export function sqlStateSection(): string {
  return `## Errors of PostgreSQL

\`INTERNAL_ERROR\` and status 500 are left to errors of the service and of the server itself.

**Raised by the tenant's own code**, by \`raise\` or \`assert\` in PL/pgSQL: the message and the hint are the author's, and
\`extensions\` has \`sqlstate\`, \`detail\`, and whatever \`table\`, \`column\` and \`constraint\` the author names. Message, hint and
\`detail\` have at most 1,000 characters each. The code follows from the SQLSTATE; it is \`CHECK_VIOLATION\` for all that are not listed. If reading raises an error,
only roles that may read all rows see what the author says, since it may be about another row.

| SQLSTATE | Code |
| --- | --- |
${Object.entries(RAISED_CODES)
  .sort()
  .map(([state, code]) => `| \`${state.padEnd(5, 'x')}\` | \`${code}\` |`)
  .join('\n')}

**By PostgreSQL within the tenant's code.** Constraints, values, missing privileges, conflicts, timeouts and an unavailable server have
the codes that they have elsewhere; all else is \`TENANT_CODE_FAILED\`, with \`sqlstate\`. Roles that may read all rows also see
PostgreSQL's message, as \`detail\`. Errors of functions in other languages than PL/pgSQL and SQL are among these, whatever they
raise: PostgreSQL doesn't tell. In a trigger \`run\` that executes them, these statements fail:

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
| \`08xxx\` other \`53xxx\` \`57xxx\` \`25006\` | \`DATABASE_UNAVAILABLE\`, or \`OUTCOME_UNKNOWN\` if the connection broke during a commit |
| \`57014\` | \`STATEMENT_TIMEOUT\`, \`REQUEST_TIMEOUT\` |
| \`40001\` \`40P01\` \`55P03\` | \`TRANSACTION_CONFLICT\` |
| \`53400\` \`54xxx\`, \`XX000\` for a value larger than 1 GB | \`DOCUMENT_TOO_COMPLEX\`, or \`BAD_USER_INPUT\` for a value that is too long for an index |
| \`58xxx\` other \`XXxxx\` | \`INTERNAL_ERROR\` |
`;
}

const inTable = (text: string): string => text.replaceAll('|', '\\|');
