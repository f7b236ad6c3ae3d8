import { parseArgs } from 'node:util';
import { withInstallation, type Installation } from '../compose.js';
import { findRootRoleid } from '../db/control/tenants.js';
import { redriveDeliveries, redriveDelivery } from '../db/delivery/redrive.js';
import { UsageError } from '../errors.js';
import { findUnsent } from '../graphql/control/redrive.js';
import type { Command } from './command.js';

const USAGE = `Usage:
  rowpost redrive --tenant <id> --delivery <id>    One delivery, whatever its end was.
  rowpost redrive --tenant <id> --filter <expr>    Those that ended as failed, skipped or unknown and that the filter chooses.`;

const MOST_AT_ONCE = 1_000;
/** PostgreSQL's int. */
const LARGEST_TENANTID = 2_147_483_647;

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

/** Each delivery once: those that fail again meanwhile are not taken again. */
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
    const ids = await findUnsent(database, root, filter, MOST_AT_ONCE, after);
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
  const { tenant, delivery, filter } = readOptions(args);
  const tenantid = Number(tenant);
  if (!Number.isInteger(tenantid) || tenantid < 1 || tenantid > LARGEST_TENANTID) {
    throw usage('--tenant takes the id of a tenant');
  }
  if ((delivery === undefined) === (filter === undefined)) throw usage('give --delivery or --filter');
  if (delivery !== undefined && !/^\d{1,18}$/.test(delivery))
    throw usage('--delivery takes the id of a delivery');
  return { tenantid, deliveryid: delivery, filter: filter ?? '' };
}

function readOptions(args: readonly string[]): { tenant?: string; delivery?: string; filter?: string } {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args: [...args], options: { tenant: text, delivery: text, filter: text } }).values;
  } catch (error) {
    throw usage(error instanceof Error ? error.message : 'bad options');
  }
}

function usage(problem: string): UsageError {
  return new UsageError(`${problem}\n${USAGE}`);
}
