import type { Ledger } from '../pool/ledgerPool.js';
import type { DeliveryKey } from './deliveryKey.js';
import type { AttemptOutcome } from './finishAttempts.js';
import { IDEMPOTENCY_KEY_USED } from './lostAttempts.js';
import { statement } from '../sql/sql.js';

/** An attempt that has ended. */
export interface PastAttempt {
  readonly attempt: number;
  readonly outcome: AttemptOutcome | 'redriven';
  /** Null when nothing was sent. */
  readonly carrier: string | null;
  /** Its idempotency key can't be used again. */
  readonly usedKey: boolean;
}

/** More than the configured maximum of attempts. */
const MAX_ATTEMPTS = 200;

/** @returns newest first */
export function readAttempts(ledger: Ledger, key: DeliveryKey): Promise<readonly PastAttempt[]> {
  return ledger.query<PastAttempt>(READ, [
    key.tenantid,
    key.deliveryid,
    key.createtime,
    IDEMPOTENCY_KEY_USED,
  ]);
}

const READ = {
  name: 'attempts_read',
  text: statement`
    select attempt, outcome, carrier, outcome = 'ambiguous' and error is not distinct from $4::text as "usedKey"
    from rowpost.email_attempt
    where tenantid = $1::int and deliveryid = $2::bigint and createtime = $3::timestamptz
    order by attempt desc limit ${MAX_ATTEMPTS}`,
};
