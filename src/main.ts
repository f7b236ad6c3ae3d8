#!/usr/bin/env node
import { runCommandLine } from './commands/commandLine.js';
import { ConfigError } from './config.js';
import { AppError, UsageError } from './errors.js';

/** One clear line for what the caller can mend; the stack for what only we can. */
function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof ConfigError) return error.message;
  if (error instanceof AppError) return `${error.message} (${error.code}) ${error.hint}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

runCommandLine(process.argv.slice(2), (text) => process.stdout.write(text)).then(
  // A server's command returns while the server goes on; then there is nothing to exit from.
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    process.stderr.write(`rowpost: ${explain(error)}\n`);
    process.exit(1);
  },
);
