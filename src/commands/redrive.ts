import { withInstallation, type Installation } from '../process/compose.js';
import { findRootRoleid } from '../control/tenants/tenants.js';
import { readKeyStates } from '../db/email/emailAccounts.js';
import { countPaused, resumeTenant } from '../db/ledger/pause.js';
import { redriveDeliveries, redriveDelivery } from '../db/ledger/redrive.js';
import { inTransaction } from '../db/pool/inTransaction.js';
import { UsageError } from '../foundation/errors.js';
import { findUnsent } from '../control/email/redrive.js';
import { ArgumentError, printJson, type Command } from './command.js';
import { readId, readOptions, readTenantId } from './options.js';

const CHUNK_SIZE = 1_000;

/** Prints one JSON line: {"tenantid":…,"redriven":…}; with --paused {"tenantid":…,"resumed":…} for each tenant. A running relay and worker send them. */
export const redrive: Command = async (args) => {
  const options = readOptions(args, ['tenant', 'delivery', 'filter', 'paused']);
  if (options.paused !== undefined) return resume(options, options.paused);
  const { tenantid, deliveryid, filter } = readArguments(options);
  return withInstallation(async (installation) => {
    const redriven =
      deliveryid === undefined
        ? await redriveFiltered(installation, tenantid, filter)
        : await redriveOne(installation, tenantid, deliveryid);
    printJson({ tenantid, redriven });
  });
};

/** Tries paused deliveries with the accounts as they are: their keys are the tenants' secrets, and may not be what was wrong. */
async function resume({ tenant, delivery, filter }: Options, paused: string): Promise<number> {
  if (tenant !== undefined || delivery !== undefined || filter !== undefined)
    throw new ArgumentError('--paused takes the tenant itself, and no other option: --paused 7');
  const only = paused === 'all' ? undefined : readId(paused, '--paused takes the id of a tenant, or all');
  return withInstallation(async ({ config, database: { pool } }) => {
    const states = await readKeyStates(pool);
    const chosen = states.paused.filter((id) => only === undefined || id === only);
    if (only !== undefined && chosen.length === 0) throw new UsageError(`tenant ${only} is not paused`);
    for (const tenantid of chosen) {
      const resumed = await countPaused(pool, tenantid);
      await inTransaction(pool, (tx) => resumeTenant(tx, tenantid, config.tenantEmailsPerSecond));
      printJson({ tenantid, resumed });
    }
  });
}

async function redriveOne(
  { config, database }: Installation,
  tenantid: number,
  deliveryid: string,
): Promise<number> {
  await inTransaction(database.pool, (tx) =>
    redriveDelivery(tx, tenantid, deliveryid, config.tenantEmailsPerSecond),
  );
  return 1;
}

/** Redrives each delivery once, even if it fails again in the meantime. */
async function redriveFiltered(
  { config, database, principals }: Installation,
  tenantid: number,
  filter: string,
): Promise<number> {
  const root = await principals.load(tenantid, await findRootRoleid(database.pool, tenantid));
  if (!root) throw new UsageError(`tenant ${tenantid} has no root role`);
  let redriven = 0;
  let after: string | undefined = '0';
  while (after !== undefined) {
    const ids = await findUnsent(database.pool, root, filter, CHUNK_SIZE, after);
    redriven += await inTransaction(database.pool, (tx) =>
      redriveDeliveries(tx, tenantid, ids, config.tenantEmailsPerSecond),
    );
    after = ids.at(-1);
  }
  return redriven;
}

interface Arguments {
  readonly tenantid: number;
  readonly deliveryid: string | undefined;
  readonly filter: string;
}

type Options = { readonly [name in 'tenant' | 'delivery' | 'filter' | 'paused']?: string };

function readArguments({ tenant, delivery, filter }: Options): Arguments {
  const tenantid = readTenantId({ tenant });
  if ((delivery === undefined) === (filter === undefined))
    throw new ArgumentError('give --delivery or --filter');
  if (delivery !== undefined && !/^\d{1,18}$/.test(delivery))
    throw new ArgumentError('--delivery takes the id of a delivery');
  return { tenantid, deliveryid: delivery, filter: filter ?? '' };
}
