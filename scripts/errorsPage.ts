// Writes docs/reference/errors.md from the tables of error codes.
import { DELIVERY_ERRORS } from '../src/api/console/deliveryErrorTable.js';
import { ERROR_CODES } from '../src/foundation/errors.js';
import { ERROR_EXAMPLES, EXAMPLE_TABLES } from './errorExamples.js';
import { sqlStateSection } from './sqlStateSection.js';

export function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [status, hint]]) => `| \`${code}\` | ${status} | ${hint} |`,
  );
  const examples = ERROR_EXAMPLES.map(({ request, message, table, column }) => {
    const where = [table, column].filter((name) => name !== undefined).map((name) => `\`${name}\``);
    return `| \`${request}\` | ${message} | ${where.join(', ')} |`;
  });
  const deliveries = DELIVERY_ERRORS.map(
    ({ codes, state, why, whatToDo }) => `| ${codes} | ${state} | ${why} | ${whatToDo} |`,
  );
  return `# Errors

Every error has a code that stays the same between releases. GraphQL errors carry it in \`extensions.code\`, with
\`extensions.hint\`. A GraphQL request that was executed gets status 200, with its errors in \`errors\`; one that was
rejected before (syntax, validation) gets the status below for clients that accept \`application/graphql-response+json\`, and
200 for those that know only \`application/json\`, as GraphQL over HTTP asks. Everything else has the body
\`{"error": "<text>", "status": <number>, "code": "<CODE>"}\` with the status below.

An input with several mistakes is refused with the first of them; then \`extensions.fields\`, \`messages\` and \`hints\` list all that
could be found.

This page is generated from \`src/foundation/errors.ts\` and \`src/api/console/deliveryErrorTable.ts\` by \`npm run docs\`.

## Codes of requests

| Code | Status | What to do |
| --- | --- | --- |
${rows.join('\n')}

## Errors that name the table and the column

Errors of the database name the table and the column as the API names them:
\`extensions.table\` and \`extensions.column\`, and \`extensions.constraint\` for a constraint. With the tables

\`\`\`sql
${EXAMPLE_TABLES}
\`\`\`

and a table \`ledger\` that belongs to another database role, these requests are rejected. A test sends them.

| Request | Message | Where |
| --- | --- | --- |
${examples.join('\n')}

${sqlStateSection()}
## Codes of deliveries

\`error_code\` of \`email_delivery\` says why a delivery ended, or why it waits; \`error\` has a message. What to do is for the author of
the rule and the email type. [Symptoms](metrics-and-alerts.md#symptoms-and-what-to-do) is for the operator.

| Code | State | Why | What to do |
| --- | --- | --- | --- |
${deliveries.join('\n')}
`;
}
