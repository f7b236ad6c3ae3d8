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
`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [file, render] of Object.entries(REFERENCE_DOCS)) {
    writeFileSync(new URL(`../${file}`, import.meta.url), render());
  }
}
