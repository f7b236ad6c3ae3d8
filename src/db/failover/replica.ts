import type pg from 'pg';
import { batchCalls } from '../../foundation/limits/batchCalls.js';
import type { Logger } from '../../foundation/observability/log.js';
import { replicaReads } from '../../foundation/observability/metrics.js';
import { withTimeout } from '../../foundation/withTimeout.js';
import { statement } from '../sql/sql.js';
import { timeRange } from '../ledger/timeRange.js';
import type { Connector } from '../pool/connector.js';
import type { TenantConnections } from '../isolation/tenantConnections.js';
import type { TransactionOutcome, TransactionRequest, Transactions } from '../pool/transactions.js';

/** Identifies an event in the outbox. `time` is PostgreSQL text, exact to the microsecond. */
export interface EventKey {
  readonly eventid: string;
  readonly time: string;
}

/** Runs transactions: reads on a replica if possible, everything else on the primary. */
export type Reads = Pick<Transactions, 'run'>;

export interface ReplicaParts {
  /** Host and port. */
  readonly name: string;
  readonly connector: Connector;
  /** The service's own connections to it. */
  readonly pool: pg.Pool;
  readonly tenants: TenantConnections;
  readonly transactions: Transactions;
  readonly primary: Transactions;
  readonly log: Logger;
}

const MAX_EVENTS_PER_CHECK = 100;
const POLL_TIMEOUT_MS = 2_000;

/** Errors that the primary would report too, after the same work. */
const FINAL_ERRORS = new Set(['REQUEST_TIMEOUT', 'STATEMENT_TIMEOUT', 'DOCUMENT_TOO_COMPLEX', 'TOO_BUSY']);

/** A standby that serves reads. */
export class Replica implements Reads {
  /** Whether the replica sees the event. Throws what pg throws. */
  readonly has: (event: EventKey) => Promise<boolean>;

  constructor(private readonly parts: ReplicaParts) {
    this.has = batchCalls((events) => this.#find(events), MAX_EVENTS_PER_CHECK);
  }

  get name(): string {
    return this.parts.name;
  }

  get use(): { readonly inUse: number; readonly waiting: number; readonly max: number } {
    return { ...this.parts.tenants.use, max: this.parts.tenants.max };
  }

  /** Falls back to the primary if the replica lacks a role, column or grant, has a recovery conflict, or breaks the connection. */
  async run(request: TransactionRequest): Promise<TransactionOutcome> {
    const { name, transactions, primary, log } = this.parts;
    if (request.mode === 'write') return primary.run(request);
    const { reservation } = request;
    let reserved = 0;
    const counted = reservation && {
      ...reservation,
      reserve: (bytes: number) => {
        reserved += bytes;
        return reservation.reserve(bytes);
      },
    };
    const outcome = await transactions
      .run(counted ? { ...request, reservation: counted } : request)
      .catch((error: unknown) => ({ kind: 'broken' as const, error }));
    if (outcome.kind === 'done' || (outcome.kind === 'failed' && FINAL_ERRORS.has(outcome.error.code))) {
      replicaReads.inc({ outcome: 'served' });
      return outcome;
    }
    // Expected while it is behind or away; the counter tells whether it lasts.
    log.debug({ replica: name, err: outcome.error }, 'a read failed on a replica; the primary repeats it');
    replicaReads.inc({ outcome: 'failed' });
    reservation?.reserve(-reserved);
    return primary.run(request);
  }

  /** @returns the replica's heartbeat. Throws what pg throws, and if the replica is not responding, after breaking its connections. */
  async readHeartbeat(): Promise<string> {
    try {
      const asked = this.parts.pool.query<{ time: string }>(HEARTBEAT);
      const { rows } = await withTimeout(asked, POLL_TIMEOUT_MS, () => {
        throw new Error('the replica is not responding');
      });
      return rows[0]?.time ?? '';
    } catch (error) {
      this.parts.connector.severAll();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.parts.tenants.close();
    await this.parts.pool.end();
  }

  async #find(events: readonly EventKey[]): Promise<readonly boolean[]> {
    const times = events.map(({ time }) => time);
    const values = [events.map(({ eventid }) => eventid), times, ...timeRange(times)];
    const { rows } = await this.parts.pool.query<{ position: number }>({ ...FIND, values });
    const found = new Set(rows.map(({ position }) => position));
    return events.map((_, index) => found.has(index + 1));
  }
}

const HEARTBEAT = 'select time::text as time from rowpost.replica_heartbeat';

const FIND = {
  name: 'replica_find_events',
  text: statement`
    select e.position::int as position
    from unnest($1::bigint[], $2::timestamptz[]) with ordinality as e(eventid, time, position)
      cross join lateral (select from rowpost.outbox o
        where o.eventid = e.eventid and o.time = e.time and o.time between $3::timestamptz and $4::timestamptz
        limit 1) o`,
};
