import type { Ledger } from '../pool/ledgerPool.js';
import { statement } from '../sql/sql.js';

/**
 * Reserves the tenant's next call of its carrier, so that those of all workers are as far apart as the carrier's rate limit asks.
 * @param intervalMs between two calls
 * @returns milliseconds until the call
 */
export async function reserveCall(ledger: Ledger, tenantid: number, intervalMs: number): Promise<number> {
  const [row] = await ledger.query<{ waitMs: number }>(RESERVE, [tenantid, intervalMs]);
  return row?.waitMs ?? 0;
}

const RESERVE = {
  name: 'call_reserve',
  text: statement`
    insert into rowpost.email_pace as p (tenantid, next_slot, next_call)
    select tenantid, now(), clock_timestamp() + $2::float8 * interval '1 ms' from rowpost.tenant where tenantid = $1::int
    on conflict (tenantid) do update set next_call = greatest(p.next_call, clock_timestamp()) + $2::float8 * interval '1 ms'
    returning greatest(extract(epoch from next_call - clock_timestamp()) * 1000 - $2::float8, 0)::float8 as "waitMs"`,
};
