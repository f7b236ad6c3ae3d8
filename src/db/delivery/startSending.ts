import type { DeliveryKey } from './batches.js';
import type { Ledger } from './ledger.js';

/** Says that the provider is about to be called. */
export interface SendingStart extends DeliveryKey {
  /** The newest attempt's number when the delivery was loaded. */
  readonly starts: number;
  readonly recipients: readonly string[];
  readonly subject: string;
}

/**
 * Commits that an attempt begins to send, numbered `starts + 1`, with a lease. Of several workers with the same
 * delivery one gets it. @returns for each, whether the caller may call the provider.
 */
export async function startSending(
  ledger: Ledger,
  starts: readonly SendingStart[],
  leaseMs: number,
): Promise<readonly boolean[]> {
  const rows = await ledger.query<{ position: number }>(START, [
    starts.map((start) => start.tenantid),
    starts.map((start) => start.deliveryid),
    starts.map((start) => start.createtime),
    starts.map((start) => start.starts),
    starts.map((start) => JSON.stringify(start.recipients)),
    starts.map((start) => start.subject),
    leaseMs,
  ]);
  const started = new Set(rows.map((row) => row.position));
  return starts.map((_, index) => started.has(index + 1));
}

// Recipients travel as JSON texts: unnest would flatten an array of arrays.
const START = {
  name: 'sending_start',
  text: `
    update rowpost.email_delivery d
    set state = 'sending', starts = d.starts + 1, started = now(), next_attempt = null,
      due = now() + $7::int * interval '1 ms', subject = w.subject,
      recipients = array(select json_array_elements_text(w.recipients::json))
    from unnest($1::int[], $2::bigint[], $3::timestamptz[], $4::int[], $5::text[], $6::text[])
      with ordinality as w(tenantid, deliveryid, createtime, starts, recipients, subject, position)
    where d.tenantid = w.tenantid and d.deliveryid = w.deliveryid and d.createtime = w.createtime
      and d.starts = w.starts and d.state in ('pending', 'retrying')
    returning w.position::int as position`,
};
