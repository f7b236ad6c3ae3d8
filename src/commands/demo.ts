import { openInstallation } from '../process/compose.js';
import { LOOPBACK } from '../config/config.js';
import { loadConfig } from '../process/loadConfig.js';
import { runTenantSql } from '../db/tenants/tenantSql.js';
import { runDemo } from '../embedded/demo/demo.js';
import { findFreePort } from '../embedded/freePort.js';
import { SETTINGS } from '../config/settings.js';
import { stopAll, stopOnSignal } from '../foundation/lifecycle/shutdown.js';
import { type Command } from './command.js';
import { readOptions } from './options.js';
import { startEverything } from './processes.js';

/** Demonstrates the whole service on a shop, then keeps running. With --once it exits: 0 if every email arrived. */
export const demo: Command = async (args) => {
  const { once = false } = readOptions(args, [], { flags: ['once'] });

  // The narration goes to stdout; log lines would interrupt it.
  const port = process.env['PORT'] ?? String(await findFreePort(SETTINGS.port.fallback));
  const config = loadConfig({
    HOST: LOOPBACK,
    LOG_LEVEL: 'warn',
    KEEP_EMAIL_DAYS: '7',
    ...process.env,
    PORT: port,
  });
  const installation = await openInstallation('demo', 'all', config);
  const { web, parts } = await startEverything(installation);
  const missing = await runDemo(
    {
      baseUrl: `http://localhost:${web.port}`,
      pxadminPassword: installation.pxadminPassword ?? '',
      async runTenantSql(tenantid, sql) {
        await runTenantSql(installation.database, { tenantid, sql });
      },
    },
    { write: (text) => process.stdout.write(text), colors: process.stdout.isTTY },
    { staysUp: !once },
  );
  if (once) {
    await stopAll([...parts, installation]);
    return missing.length === 0 ? 0 : 1;
  }
  stopOnSignal([...parts, installation], config.graceMs, installation.log);
  return 0;
};
