import type pg from 'pg';
import type { Logger } from '../../foundation/observability/log.js';
import { replicaReads } from '../../foundation/observability/metrics.js';
import { startOutage, type Outage } from '../../foundation/observability/outage.js';
import type { EventKey, Reads, Replica } from './replica.js';

const BEAT_MS = 1_000;
/** Short enough that each heartbeat is seen on the primary before the next one replaces it. */
const POLL_MS = 400;

interface Watched {
  readonly replica: Replica;
  readonly outage: Outage;
  /** When the replica's newest heartbeat was first seen on the primary, as performance.now(). */
  asOfMs: number | undefined;
  isPolling: boolean;
}

/**
 * Standbys for reads that may lag slightly. The lag is measured with a heartbeat on the primary: a replica is usable while
 * it has a heartbeat that this process has recently seen on the primary. So clocks don't matter, nor whether a replica
 * follows another primary after a failover.
 */
export class Replicas {
  readonly #watched: readonly Watched[];
  /** When each recent heartbeat was first seen on the primary. */
  readonly #beats = new Map<string, number>();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #polls = new Set<Promise<void>>();
  #isBeating = false;
  #next = 0;

  constructor(
    replicas: readonly Replica[],
    private readonly options: {
      /** To the primary. */
      readonly pool: pg.Pool;
      /** A replica that is further behind serves nothing. */
      readonly maxLagMs: number;
      readonly log: Logger;
    },
  ) {
    this.#watched = replicas.map((replica) => ({
      replica,
      outage: startOutage(options.log, `the replica ${replica.name}`),
      asOfMs: undefined,
      isPolling: false,
    }));
    if (replicas.length === 0) return;
    this.#timer = setInterval(() => this.#pollAll(), POLL_MS).unref();
    this.#pollAll();
  }

  /** Reads from a replica that has the event; undefined if the primary must be used. */
  async readsWith(event: EventKey): Promise<Reads | undefined> {
    if (this.#watched.length === 0) return undefined;
    const replica = this.#choose();
    if (await replica?.has(event).catch(() => false)) return replica;
    replicaReads.inc({ outcome: 'behind' });
    return undefined;
  }

  /** Reads from a replica that does not lag too much; undefined if the primary must be used. */
  reads(): Reads | undefined {
    if (this.#watched.length === 0) return undefined;
    const replica = this.#choose();
    if (!replica) replicaReads.inc({ outcome: 'behind' });
    return replica;
  }

  /** Each replica's lag, accurate to the second between heartbeats; undefined if it is unavailable. */
  lags(): readonly { readonly name: string; readonly lagMs: number | undefined }[] {
    const nowMs = performance.now();
    return this.#watched.map(({ replica: { name }, asOfMs }) => ({
      name,
      lagMs: asOfMs === undefined ? undefined : nowMs - asOfMs,
    }));
  }

  /** Connections to all replicas; undefined if there are no replicas. */
  use(): { readonly inUse: number; readonly waiting: number; readonly max: number } | undefined {
    if (this.#watched.length === 0) return undefined;
    const sum = (of: (use: Replica['use']) => number): number =>
      this.#watched.reduce((total, { replica }) => total + of(replica.use), 0);
    return { inUse: sum((use) => use.inUse), waiting: sum((use) => use.waiting), max: sum((use) => use.max) };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#polls);
    await Promise.all(this.#watched.map(({ replica }) => replica.close()));
  }

  /** Round-robin. */
  #choose(): Replica | undefined {
    const oldestMs = performance.now() - this.options.maxLagMs;
    const fresh = this.#watched.filter(({ asOfMs }) => asOfMs !== undefined && asOfMs >= oldestMs);
    return fresh[this.#next++ % fresh.length]?.replica;
  }

  #pollAll(): void {
    if (!this.#isBeating) this.#track(this.#beat());
    for (const one of this.#watched) if (!one.isPolling) this.#track(this.#poll(one));
  }

  #track(poll: Promise<void>): void {
    this.#polls.add(poll);
    void poll.finally(() => this.#polls.delete(poll));
  }

  async #beat(): Promise<void> {
    this.#isBeating = true;
    try {
      const { rows } = await this.options.pool.query<{ time: string }>(BEAT);
      const nowMs = performance.now();
      const time = rows[0]?.time;
      if (time !== undefined && !this.#beats.has(time)) this.#beats.set(time, nowMs);
      for (const [old, seenMs] of this.#beats)
        if (nowMs - seenMs > 2 * this.options.maxLagMs) this.#beats.delete(old);
    } catch {
      // Whoever needs the primary reports its failure; the replicas' lag shows the rest.
    } finally {
      this.#isBeating = false;
    }
  }

  async #poll(one: Watched): Promise<void> {
    one.isPolling = true;
    try {
      const seenMs = this.#beats.get(await one.replica.readHeartbeat());
      if (seenMs !== undefined) one.asOfMs = seenMs;
      one.outage.recovered();
    } catch (error) {
      one.asOfMs = undefined;
      one.outage.failed(error);
    } finally {
      one.isPolling = false;
    }
  }
}

// Does not wait for synchronous standbys, which may be down. Any process may write it.
const BEAT = `
  with unwaited as materialized (
    select set_config('synchronous_commit', 'off', true)
  ), beat as (
    update rowpost.replica_heartbeat set time = clock_timestamp() from unwaited
    where time < clock_timestamp() - interval '${BEAT_MS} ms'
    returning time
  )
  select coalesce((select time from beat), (select time from rowpost.replica_heartbeat))::text as time`;
