import { withInstallation, type Installation } from '../compose.js';
import { findRootRoleid } from '../control/tenants/tenants.js';
import { redriveDeliveries, redriveDelivery } from '../db/delivery/redrive.js';
import { UsageError } from '../errors.js';
import { findUnsent } from '../control/email/redrive.js';
import { ArgumentError, type Command } from './command.js';
import { readId, readOptions } from './options.js';

const CHUNK_SIZE = 1_000;

/** Prints one JSON line: {"tenantid":…,"redriven":…}. A running relay and worker send them. */
export const redrive: Command = async (args) => {
  const { tenantid, deliveryid, filter } = readArguments(args);
  return withInstallation(async (installation) => {
    const redriven =
      deliveryid === undefined
        ? await redriveFiltered(installation, tenantid, filter)
        : await redriveOne(installation, tenantid, deliveryid);
    process.stdout.write(`${JSON.stringify({ tenantid, redriven })}\n`);
  });
};

async function redriveOne(
  { config, database }: Installation,
  tenantid: number,
  deliveryid: string,
): Promise<number> {
  await redriveDelivery(database.knex, tenantid, deliveryid, config.tenantEmailsPerSecond);
  return 1;
}

/** Redrives each delivery once, even if it fails again in the meantime. */
async function redriveFiltered(
  { config, database, principals }: Installation,
  tenantid: number,
  filter: string,
): Promise<number> {
  const root = await principals.load(tenantid, await findRootRoleid(database.knex, tenantid));
  if (!root) throw new UsageError(`tenant ${tenantid} has no root role`);
  let redriven = 0;
  let after: string | undefined = '0';
  while (after !== undefined) {
    const ids = await findUnsent(database, root, filter, CHUNK_SIZE, after);
    redriven += await redriveDeliveries(database.knex, tenantid, ids, config.tenantEmailsPerSecond);
    after = ids.at(-1);
  }
  return redriven;
}

interface Arguments {
  readonly tenantid: number;
  readonly deliveryid: string | undefined;
  readonly filter: string;
}

function readArguments(args: readonly string[]): Arguments {
  const { tenant, delivery, filter } = readOptions(args, ['tenant', 'delivery', 'filter']);
  const tenantid = readId(tenant, '--tenant takes the id of a tenant');
  if ((delivery === undefined) === (filter === undefined))
    throw new ArgumentError('give --delivery or --filter');
  if (delivery !== undefined && !/^\d{1,18}$/.test(delivery))
    throw new ArgumentError('--delivery takes the id of a delivery');
  return { tenantid, deliveryid: delivery, filter: filter ?? '' };
}
