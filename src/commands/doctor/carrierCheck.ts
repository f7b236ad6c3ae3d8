import type { Config } from '../../config/config.js';
import type { Database } from '../../db/pool/database.js';
import { readAllAccounts } from '../../db/email/emailAccounts.js';
import type { Account } from '../../email/carriers/account.js';
import { openCarriers } from '../../email/carriers/openCarriers.js';
import { openAccounts } from '../../email/carriers/openAccounts.js';
import type { Carriers } from '../../email/carriers/sending.js';
import type { KeyRing } from '../../config/secrets.js';
import { bad, good, shortened, type Finding } from './check.js';

/** An account, and its tenant. */
export interface TenantAccount {
  readonly tenantid: number;
  readonly account: Account;
}

/** The result of verifying one account. */
export interface AccountVerdict {
  readonly tenantid: number;
  readonly kind: string;
  /** Why it can't be used, without secrets. */
  readonly problem: string | undefined;
}

const VERIFY_MS = 4_000;
/** Leaves enough of the check's time for the account started last. */
const START_WITHIN_MS = 12_000;
const MAX_AT_ONCE = 10;

/** The accounts of all tenants. Ones that don't decrypt are skipped: the check of secrets reports them. */
export async function tenantAccounts(
  { pool }: Pick<Database, 'pool'>,
  keyRing: KeyRing,
): Promise<readonly TenantAccount[]> {
  return (await readAllAccounts(pool)).flatMap(({ tenantid, ...stored }) => {
    try {
      return openAccounts(keyRing, tenantid, stored).map((account) => ({ tenantid, account }));
    } catch {
      return [];
    }
  });
}

/** Verifies tenants' accounts with their carriers, without sending anything. */
export async function checkCarriers(
  config: Config,
  database: Database,
  accounts: readonly TenantAccount[],
): Promise<Finding> {
  const carriers = openCarriers(config, database);
  try {
    const verdicts = await verifyAll(carriers, accounts, Math.min(config.sendDeadlineMs, VERIFY_MS));
    return assessAccounts(verdicts, accounts.length);
  } finally {
    await carriers.close();
  }
}

async function verifyAll(
  carriers: Carriers,
  accounts: readonly TenantAccount[],
  deadlineMs: number,
): Promise<readonly AccountVerdict[]> {
  const verdicts: AccountVerdict[] = [];
  const startedAtMs = performance.now();
  const waiting = [...accounts];
  const ask = async (): Promise<void> => {
    while (performance.now() - startedAtMs < START_WITHIN_MS) {
      const next = waiting.shift();
      if (!next) return;
      const { tenantid, account } = next;
      const verdict = await carriers.verify(account, deadlineMs);
      verdicts.push({ tenantid, kind: account.kind, problem: verdict.ok ? undefined : verdict.message });
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, ask));
  return verdicts;
}

/** A single rejected account is up to its tenant. If all accounts of a carrier are, the carrier or the network is the cause. */
function assessAccounts(verdicts: readonly AccountVerdict[], total: number): Finding {
  if (total === 0) return good('no tenant has an account');
  const kinds = [...new Set(verdicts.map(({ kind }) => kind))].toSorted();
  const lines = kinds.map((kind) => describe(verdicts.filter((verdict) => verdict.kind === kind)));
  const asked =
    verdicts.length < total ? `; ${verdicts.length} of ${total} accounts were checked in time` : '';
  const says = `${lines.map(({ says: each }) => each).join('; ')}${asked}`;
  return lines.every(({ ok }) => ok)
    ? good(says)
    : bad(
        says,
        "Check the carrier's status page and the accounts with it; if it did not respond, DNS and outbound network access.",
      );
}

function describe(verdicts: readonly AccountVerdict[]): Finding {
  const kind = verdicts[0]?.kind ?? '';
  const refused = verdicts
    .filter(({ problem }) => problem !== undefined)
    .toSorted((a, b) => a.tenantid - b.tenantid);
  if (refused.length === 0) return good(`${kind} recognizes ${verdicts.length}`);
  const listed = shortened(refused.map(({ tenantid, problem }) => `tenant ${tenantid}: ${problem}`));
  const says = `${kind} recognizes ${verdicts.length - refused.length} of ${verdicts.length} (${listed})`;
  return refused.length === verdicts.length ? bad(says) : good(says);
}
