#!/usr/bin/env node
import { runCommandLine } from './commands/commandLine.js';
import { AppError, ConfigError, UsageError } from './foundation/errors.js';
import { guardTerminal } from './foundation/observability/terminalText.js';

/** One line for errors that the caller can fix; the stack trace for bugs. */
function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof ConfigError) return error.message;
  if (error instanceof AppError) return `${error.message} (${error.code}) ${error.hint}`;
  if (!(error instanceof Error)) return String(error);
  // insufficient_privilege: in a migration, knex puts the statement before PostgreSQL's message.
  if ((error as { code?: unknown }).code === '42501')
    return `PostgreSQL denies a right that is needed: ${error.message.split(' - ').at(-1)}. "rowpost doctor" names those of DATABASE_URL's role that are missing.`;
  return error.stack ?? error.message;
}

guardTerminal(process.stdout);
guardTerminal(process.stderr);

// Whoever reads the output may have read enough, as `head` does. The command still does all of its work.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

runCommandLine(process.argv.slice(2), (text) => process.stdout.write(text)).then(
  // A server command returns while its server keeps running, so don't call process.exit.
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    process.stderr.write(`rowpost: ${explain(error)}\n`);
    process.exit(1);
  },
);
