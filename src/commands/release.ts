import { systemClock } from '../foundation/clock.js';
import { openInstallation, type Installation } from '../process/compose.js';
import { setDefaultsOfRoles } from '../db/pool/sessionSettings.js';
import { revokePublicAccess } from '../db/isolation/databaseGrants.js';
import { ensureInstallation } from '../control/tenants/installation.js';
import { listTenants } from '../control/tenants/tenants.js';
import { restoreLostRoles } from '../db/tenants/lostRoles.js';
import { MOVING_TABLES } from '../control/tenants/tenantTables.js';
import { MAX_ID_RANGE, startIdRange } from '../db/tenants/idRange.js';
import { joinDirectory, readOwnCell } from '../db/cells/directory/cells.js';
import { useDirectory } from '../db/cells/directory/directory.js';
import { requireKeysOf } from '../db/roles/signIn/signingKeys.js';
import { migrate } from '../db/schema/migrate.js';
import { missingRights } from '../db/isolation/rights.js';
import { PATIENCE, ServerGuard, withoutHolders } from '../db/isolation/serverGuard.js';
import { UsageError } from '../foundation/errors.js';
import { ArgumentError, type Command } from './command.js';
import { readOptions } from './options.js';

/** Long enough for a PostgreSQL that is deployed at the same time, short enough to report a failure. */
const PATIENCE_MS = 60_000;

/** Migrates the database and creates `pxadmin` on the first run. Idempotent, and safe to run concurrently. */
export const release: Command = async (args) => {
  const idRange = readIdRange(args);
  const installation = await openInstallation('release', 'command', undefined, PATIENCE_MS);
  try {
    await releaseInstallation(installation);
    const { pool } = installation.database;
    const range = idRange ?? (await readOwnCell(pool))?.idRange;
    if (range !== undefined) {
      await startIdRange(
        pool,
        MOVING_TABLES.map(({ table }) => table),
        range,
      );
    }
    await joinCells(installation, range);
    return 0;
  } finally {
    await installation.stop();
  }
};

/** Enters this installation in its directory, where it has one. */
async function joinCells({ config, database, keyRing, log }: Installation, idRange?: number): Promise<void> {
  const { cell: name, directoryUrl, cellUrl: baseUrl } = config;
  if (name === undefined || directoryUrl === undefined) return;
  if (idRange === undefined) throw new UsageError('the first release of a cell needs --id-range');
  const { SigningKeys } = await import('../api/auth/signingKeys.js');
  // Whichever cell comes first makes the key that all sign with.
  await new SigningKeys(database.pool, keyRing, systemClock).ensure();
  await useDirectory(directoryUrl, 'rowpost release', log, (directory) =>
    joinDirectory(directory, database.pool, { name, baseUrl, idRange }),
  );
  await requireKeysOf(database.pool, keyRing);
}

function readIdRange(args: readonly string[]): number | undefined {
  const { 'id-range': text } = readOptions(args, ['id-range']);
  if (text === undefined) return undefined;
  if (/^\d{1,3}$/.test(text) && Number(text) <= MAX_ID_RANGE) return Number(text);
  throw new ArgumentError(`--id-range takes a number from 0 to ${MAX_ID_RANGE}`);
}

/** How long a migration waits for a lock of a tenant's before that session is ended: migrations give up after half a second. */
const MIGRATION_PATIENCE_MS = 300;

export async function releaseInstallation(installation: Installation): Promise<void> {
  const { database, log } = installation;
  const lacking = await missingRights(database.pool);
  if (lacking.length > 0) throw new UsageError(lacking.join('\n'));
  const insist = <T>(serviceMs: number, work: () => Promise<T>): Promise<T> =>
    withoutHolders(
      new ServerGuard(database.createClient, () => database.tenants.names(), { ...PATIENCE, serviceMs }),
      (err) => log.warn({ err }, "tenants' sessions that hold up the release can't be ended"),
      work,
    );
  const applied = await migrate(database.pool, {
    insist: (migration) => insist(MIGRATION_PATIENCE_MS, migration),
  });
  log.info({ applied }, applied.length > 0 ? 'migrated' : 'the database is up to date');
  // No relay may be running that would do it.
  await insist(PATIENCE.serviceMs, () => prepareRoles(installation));
  const { migrateQueue } = await import('../queue/openQueue.js');
  await migrateQueue(installation.config, database);
  const made = await ensureInstallation(database.pool, installation.pxadminPassword);
  if (made === 'created') log.info('created pxadmin with the given password');
  if (made === 'password-missing') {
    throw new UsageError('PXADMIN_PASSWORD, the password of pxadmin, is required at the first release');
  }
}

/** Roles, grants and settings of the tenants. No tenant keeps the others from being prepared. */
async function prepareRoles({ database, log, config }: Installation): Promise<void> {
  const { restored, problems } = await restoreLostRoles(database.pool);
  if (restored > 0) log.info({ tenants: restored }, 'recreated missing database roles of tenants');
  for (const problem of problems) log.error(`${problem}: see "rowpost doctor"`);
  for (const { tenantid, schema } of await listTenants(database.pool)) {
    if (schema === null) continue;
    await database.tenants.settle(tenantid, schema).catch((err: unknown) => {
      log.error({ tenantid, err }, 'who serves a tenant could not be settled; its next request tries again');
    });
  }
  if (config.databaseDirectUrl !== undefined) {
    const { pool, tenants, settings } = database;
    await setDefaultsOfRoles(pool, await tenants.names(), settings);
  }
  if (!(await revokePublicAccess(database.pool))) {
    log.warn('the database belongs to another role, and every role may connect to it: see "rowpost doctor"');
  }
}
