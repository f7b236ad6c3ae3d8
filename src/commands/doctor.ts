import { existsSync } from 'node:fs';
import { openInstallation, type Installation } from '../process/compose.js';
import type { Config } from '../config/config.js';
import { loadConfig } from '../process/loadConfig.js';
import { ConfigError, UsageError } from '../foundation/errors.js';
import { ArgumentError, type Command } from './command.js';
import { tenantAccounts } from './doctor/carrierCheck.js';
import { bad, examine, good, type Checks, type Finding } from './doctor/check.js';
import { databaseChecks } from './doctor/databaseChecks.js';
import { outsideChecks } from './doctor/outsideChecks.js';

/** Checks everything that Rowpost depends on, one line each, without sending email. Exit status 1 if any check fails. */
export const doctor: Command = async (args) => {
  if (args.length > 0) throw new ArgumentError('doctor takes no arguments');
  // Problems are reported by the checks' own lines.
  const failed = await runDoctor({ LOG_LEVEL: 'silent', ...process.env }, (line) => {
    process.stdout.write(`${line}\n`);
  });
  return failed === 0 ? 0 : 1;
};

/** @returns the number of failed checks */
export async function runDoctor(
  env: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  let failed = 0;
  const report = (name: string, finding: Finding): void => {
    if (!finding.ok) failed += 1;
    write(line(name, finding));
  };
  const reportAll = async (checks: Checks): Promise<void> => {
    const running = Object.entries(checks).map(([name, check]) => [name, examine(check)] as const);
    for (const [name, finding] of running) report(name, await finding);
  };

  const config = readConfig(env);
  if (config instanceof ConfigError) {
    for (const problem of config.problems) report('settings', bad(problem));
    return failed;
  }
  report('settings', good(config.production ? 'complete, for production' : 'complete, not for production'));
  let usesSendgrid = true;
  const installation = await open(config);
  if ('ok' in installation) {
    report('postgres', installation);
  } else {
    try {
      await reportAll(databaseChecks(installation));
      usesSendgrid = await isSendgridUsed(installation);
    } finally {
      await installation.stop();
    }
  }
  await reportAll(outsideChecks(config, usesSendgrid));
  return failed;
}

/** Also true if no tenant has an account yet, or if that can't be determined. */
async function isSendgridUsed({ database, keyRing }: Installation): Promise<boolean> {
  const accounts = await tenantAccounts(database, keyRing).catch(() => []);
  return accounts.length === 0 || accounts.some(({ account }) => account.kind === 'sendgrid');
}

function readConfig(env: Readonly<Record<string, string | undefined>>): Config | ConfigError {
  try {
    return loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

async function open(config: Config): Promise<Installation | Finding> {
  // Checking an installation must not create one.
  if (config.embedded && !existsSync(config.dataDir)) {
    return bad(
      'there is no embedded PostgreSQL yet',
      'Run "rowpost all" or "rowpost demo", or set DATABASE_URL.',
    );
  }
  try {
    return await openInstallation('doctor', 'command', config);
  } catch (error) {
    if (error instanceof UsageError) return bad(error.message);
    throw error;
  }
}

const NAME_WIDTH = 11;

function line(name: string, { ok, says, hint }: Finding): string {
  return `${ok ? '✓' : '✗'} ${name.padEnd(NAME_WIDTH)}${says}${hint === undefined ? '' : ` → ${hint}`}`;
}
