import type { Installation } from '../../process/compose.js';
import { publicPrivileges, rolesThatMayNotConnect } from '../../db/isolation/databaseGrants.js';
import { readOpenSchemas } from '../../db/isolation/schemaCreators.js';
import { listTenants } from '../../control/tenants/tenants.js';
import { findLostCapture } from '../../db/capture/captureGaps.js';
import { statementsToAdopt } from '../../db/tenants/adoption.js';
import { describeLostTenant, findLostRoles } from '../../db/tenants/lostRoles.js';
import { checkStoredSecrets } from '../../control/storedSecrets.js';
import type { KeyRing } from '../../config/secrets.js';
import { type Database } from '../../db/pool/database.js';
import { readBacklog, type Backlog } from '../../db/outbox/backlog.js';
import { readKeyStates, type KeyStates } from '../../db/email/emailAccounts.js';
import { oldestSeconds, overdueIn, type Overdue, durationText } from '../../db/ledger/backlogAlarm.js';
import { probeWrites, readServerFacts } from '../../db/failover/reachability.js';
import { excessRights, missingRights } from '../../db/isolation/rights.js';
import { readVacuumState, type VacuumState } from '../../db/isolation/vacuumState.js';
import { pendingMigrations } from '../../db/schema/migrate.js';
import type { Logger } from '../../foundation/observability/log.js';
import { quoted } from '../../db/sql/sql.js';
import { connectPostgres } from '../../queue/postgresConnections.js';
import { checkCarriers, tenantAccounts } from './carrierCheck.js';
import { bad, codeOf, good, shortened, type Checks, type Finding } from './check.js';
import { checkPooler, checkReplicas } from './connectionChecks.js';

/** The expiry of tokens, signatures and leases depends on the clock. */
const MAX_CLOCK_DIFFERENCE_MS = 2_000;
const DISK_FULL = '53100';

/** Checks that need a reachable database. */
export function databaseChecks({ config, database, keyRing, log }: Installation): Checks {
  /** For a check that reads Rowpost's own tables. */
  const ready = (check: () => Promise<Finding>) => async (): Promise<Finding> =>
    (await pendingMigrations(database.pool)) === 'all'
      ? bad('the database is not set up yet', 'Run "rowpost release".')
      : check();
  return {
    postgres: () => checkPostgres(database),
    rights: () => checkRights(database),
    migrations: ready(() => checkMigrations(database)),
    roles: ready(() => checkRoles(database)),
    ...(config.databaseDirectUrl !== undefined && {
      pooler: ready(() => checkPooler(config, database, keyRing, log)),
    }),
    ...(config.databaseReplicaUrls.length > 0 && {
      replicas: ready(() => checkReplicas(config, keyRing, log)),
    }),
    logins: ready(() => checkTenantLogins(database)),
    schemas: ready(() => checkSchemas(database)),
    adopted: ready(() => checkAdoptedSchemas(database)),
    capture: ready(() => checkCapture(database)),
    clock: () => checkClock(database),
    autovacuum: async () => assessVacuum(await readVacuumState(database.pool)),
    secrets: ready(() => checkSecrets(database, keyRing)),
    ...(config.mailTransport !== 'mailbox' && {
      keys: ready(async () => assessKeys(await readKeyStates(database.pool))),
      carriers: ready(async () => checkCarriers(config, database, await tenantAccounts(database, keyRing))),
    }),
    ...(config.redisUrl === undefined && { queue: () => checkQueue(database, log) }),
    backlog: ready(async () => assessBacklog(await readBacklog(database.ledger), config.backlogAlarmSeconds)),
  };
}

async function checkRights({ pool }: Database): Promise<Finding> {
  const missing = await missingRights(pool);
  if (missing.length > 0) return bad(missing.join('; '));
  const { role, rights } = await excessRights(pool);
  if (rights.length === 0) return good('may create roles and schemas, and no more');
  return bad(
    `the database role "${role}" has ${rights.join(', ')}, which the service does not need`,
    'Use a role with only LOGIN and CREATEROLE that owns the database: see docs/how-to/run.md, "The role in PostgreSQL".',
  );
}

async function checkMigrations({ pool }: Database): Promise<Finding> {
  const pending = await pendingMigrations(pool);
  if (pending.length === 0) return good('the database is up to date');
  return bad(`${pending.length} missing`, 'Run "rowpost release".');
}

async function checkClock({ pool }: Database): Promise<Finding> {
  const { clockDifferenceMs } = await readServerFacts(pool);
  const says = `${(Math.abs(clockDifferenceMs) / 1000).toFixed(1)} s from PostgreSQL's`;
  return Math.abs(clockDifferenceMs) <= MAX_CLOCK_DIFFERENCE_MS
    ? good(says)
    : bad(says, 'Synchronize both with NTP.');
}

/** Autovacuum begins at one, and has all ids at five to ten. */
const LATE_VACUUM = 2;

/** PostgreSQL vacuums all tables by force from here on. */
const MANY_MEMBERS = 0.5;
const FREEZE = 'End the oldest transactions in pg_stat_activity, then run "vacuumdb --all --freeze".';

export function assessVacuum({ isOn, transactions, multixacts, members }: VacuumState): Finding {
  if (!isOn) return bad('it is off', 'Set autovacuum and track_counts to on.');
  if (members > MANY_MEMBERS) {
    return bad(
      `shared locks of rows use about ${Math.round(members * 100)}% of PostgreSQL's space for their ids`,
      FREEZE,
    );
  }
  const [age, what] =
    transactions > multixacts ? [transactions, 'transactions'] : [multixacts, 'shared locks of rows'];
  const says = `the oldest ${what} are ${Math.round(age * 100)}% as old as when it freezes them`;
  return age <= LATE_VACUUM ? good(says) : bad(says, FREEZE);
}

async function checkSecrets({ pool }: Database, keyRing: KeyRing): Promise<Finding> {
  const { stored, unreadable } = await checkStoredSecrets(pool, keyRing);
  if (unreadable.length === 0) return good(`${stored} stored, all can be decrypted`);
  return bad(
    `${unreadable.length} of ${stored} don't decrypt: ${shortened(unreadable)}`,
    'Add the key that encrypted them to SECRET_KEYS, after the current one.',
  );
}

async function checkPostgres({ pool }: Database): Promise<Finding> {
  const { version, roundTripMs, readOnly } = await readServerFacts(pool);
  const says = `version ${version}, responds in ${Math.ceil(roundTripMs)} ms`;
  if (readOnly) {
    return bad(
      `${says}; it is read-only`,
      'It is a standby, or default_transaction_read_only is on: nothing is written or sent.',
    );
  }
  try {
    if ((await pendingMigrations(pool)) !== 'all') await probeWrites(pool);
  } catch (error) {
    const code = codeOf(error);
    return bad(
      `${says}; it refuses to write (${code})`,
      code === DISK_FULL
        ? 'Its disk is full: free space there. Mutations fail until then, and no email is sent.'
        : undefined,
    );
  }
  return good(says);
}

async function checkRoles({ pool }: Database): Promise<Finding> {
  const { tenants, grants } = await findLostRoles(pool);
  const missing = [
    ...(grants ? ["grants on Rowpost's own functions are missing"] : []),
    ...tenants.map(describeLostTenant),
  ];
  if (missing.length === 0) return good('each tenant owns its schema');
  return bad(
    `${shortened(missing)}, as after a dump was restored`,
    tenants.some(({ lacks }) => lacks !== 'schema') || grants
      ? 'Run "rowpost release".'
      : 'Restore it as well, or delete the tenant.',
  );
}

async function checkTenantLogins({ pool, tenants }: Database): Promise<Finding> {
  const names = await tenants.names();
  const barred = await rolesThatMayNotConnect(pool, names);
  if (barred.length > 0) {
    return bad(
      `${shortened(barred)} may not connect to this database`,
      `As its owner, run: grant connect on database … to ${barred.map((role) => quoted(role)).join(', ')}`,
    );
  }
  try {
    await tenants.checkSharedLogin();
  } catch (error) {
    return bad(
      `${names.shared} can't log in: ${(error as Error).message}`,
      'Run "rowpost release" if the role is missing. Otherwise, pg_hba.conf has to let the roles rowpost_… connect with a password.',
    );
  }
  const open = await publicPrivileges(pool);
  if (open.length === 0) return good('tenants log in with roles of their own');
  const privileges = open.join(' and ').toUpperCase();
  if ((await listTenants(pool)).some(({ adopted }) => adopted)) {
    return good(
      `tenants log in with roles of their own; who else has ${privileges} on the database is up to its owner`,
    );
  }
  return bad(
    `every role of the cluster has ${privileges} on this database`,
    `Make the service its owner and run "rowpost release"; or grant ${open.join(', ')} on it to those who need them, and revoke them from public.`,
  );
}

async function checkSchemas({ pool }: Database): Promise<Finding> {
  const open = await readOpenSchemas(pool);
  if (open.length === 0) return good('only their owners create objects in public and in those of Rowpost');
  const who = open.map(
    ({ schema, role }) => `${role === 'public' ? 'every role' : role} in ${quoted(schema)}`,
  );
  return bad(
    `objects may be created by ${shortened(who)}, where the code of tenants may look for functions and operators`,
    `As the owner, run: ${open.map(({ revoke }) => revoke).join('; ')}`,
  );
}

async function checkAdoptedSchemas({ pool }: Database): Promise<Finding> {
  const adopted = (await listTenants(pool)).flatMap(({ tenantid, schema, adopted: isAdopted }) =>
    isAdopted && schema !== null ? [{ tenantid, schema }] : [],
  );
  const lacking: { readonly schema: string; readonly grants: number }[] = [];
  for (const one of adopted) {
    const { length } = await statementsToAdopt(pool, one);
    if (length > 0) lacking.push({ schema: one.schema, grants: length });
  }
  const [first] = lacking;
  if (first === undefined) {
    return good(
      adopted.length === 0 ? 'no schemas' : `all is granted on ${counted(adopted.length, 'schema')}`,
    );
  }
  return bad(
    shortened(lacking.map(({ schema, grants }) => `"${schema}" lacks ${grants} grants`)),
    `See the statements with "rowpost tenant adopt --schema ${first.schema} --print-sql".`,
  );
}

async function checkCapture({ pool, tenants }: Database): Promise<Finding> {
  const lost = (await findLostCapture(pool, await tenants.names())).filter(({ tables }) => tables.length > 0);
  if (lost.length === 0) return good('all captured tables have their triggers');
  return bad(
    `changes by SQL are not captured: ${shortened(lost.flatMap(({ tenantid, tables }) => tables.map((table) => `${table} of tenant ${tenantid}`)))}`,
    "A relay restores the triggers within seconds: is one running? Its log says why it can't.",
  );
}

async function checkQueue(database: Database, log: Logger): Promise<Finding> {
  // Rejects with a message for the operator if BullMQ's tables are missing.
  const connections = await connectPostgres(database, log);
  await connections.close();
  return good('in the same PostgreSQL');
}

/** A single tenant's rejected key is up to that tenant; if all are rejected, the carrier or the account is the cause. */
export function assessKeys({ tenants, paused }: KeyStates): Finding {
  if (paused.length > 0 && paused.length === tenants) {
    return bad(
      `the carriers reject the accounts of all tenants (${shortened(paused.map(String))})`,
      'Check the account with the carrier. A new key or account resumes paused deliveries; once the carrier accepts the old one again, "rowpost redrive --paused all" does.',
    );
  }
  const those =
    paused.length === 0 ? '' : `; the carriers reject those of tenants ${shortened(paused.map(String))}`;
  return good(`${tenants === 1 ? '1 tenant has' : `${tenants} tenants have`} an account${those}`);
}

/** What may be blocking each stage. */
const OVERDUE: Readonly<Record<Overdue['place'], readonly [what: string, hint: string]>> = {
  events: ['committed events are not read', 'Is a relay running?'],
  batches: [
    'batches of events wait',
    'Are a relay and enough workers running, and can they reach the queue?',
  ],
  deliveries: ['deliveries wait', 'Are enough workers running, and do the carriers respond?'],
  retries: ['retries are due', 'Are a relay and enough workers running, and can they reach the queue?'],
};

/** @param alarmSeconds 0 for no alarm */
export function assessBacklog(backlog: Backlog, alarmSeconds: number): Finding {
  const [first] = overdueIn(backlog, alarmSeconds);
  if (first) {
    const [what, hint] = OVERDUE[first.place];
    return bad(`${first.count} ${what}, the oldest for ${durationText(first.oldestSeconds)}`, hint);
  }
  const oldest = oldestSeconds(backlog) ?? 0;
  const open = `${counted(backlog.unreadEvents, 'event')}, ${counted(backlog.openBatches, 'batch', 'batches')} and ${counted(backlog.waiting + backlog.retries, 'delivery', 'deliveries')} wait`;
  const apart = `${backlog.later} for their next attempt, ${backlog.paused} paused`;
  return good(`${open}${oldest > 0 ? `, the oldest for ${durationText(oldest)}` : ''}; ${apart}`);
}

function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}
