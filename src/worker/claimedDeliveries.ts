import type { Ledger } from '../db/pool/ledgerPool.js';
import type { HeldDelivery, KnownDelivery } from '../db/ledger/deliveryKey.js';
import { extendLeases } from '../db/ledger/leases.js';
import type { Logger } from '../foundation/observability/log.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';

interface Claim {
  held: HeldDelivery;
  /** When to record or renew its lease. */
  dueMs: number;
  /** When the lease may end. Monotonic clock, which keeps running while the process is stopped. */
  untilMs: number;
  isRecorded: boolean;
}

/**
 * Most deliveries are sent within this time and never need a lease. A slower one gets its lease before the relay's sweep,
 * at the earliest two seconds after the delivery was recorded, would queue it again.
 */
const GRACE_MS = 1_000;
const MAX_SCAN_INTERVAL_MS = 250;
/** Fraction of the lease reserved for clock drift and the time a request takes to reach the carrier. */
const CLOCK_MARGIN = 0.2;

/**
 * Deliveries that this worker has claimed, and their leases: they wait for a slot, are being composed, or are being sent.
 * While the worker is alive, no other worker gets them.
 */
export class ClaimedDeliveries implements Stoppable {
  readonly #claims = new Map<string, Claim>();
  /** Given up without being attempted, with a lease on record. */
  readonly #dropped: Claim[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #usableMs: number;
  /** By whether they are being sent: thousands may wait, and must not hold up the leases of those. */
  readonly #recording = new Map<boolean, Promise<void>>();

  constructor(
    private readonly ledger: Ledger,
    private readonly leaseMs: number,
    private readonly log: Logger,
  ) {
    this.#usableMs = leaseMs * (1 - CLOCK_MARGIN);
    const renew = (): void => [true, false].forEach((sending) => this.#renew(sending));
    this.#timer = setInterval(renew, Math.min(MAX_SCAN_INTERVAL_MS, leaseMs / 6));
  }

  /**
   * Runs the work unless this worker has claimed the delivery already: a job may be delivered twice.
   * @param work returns 'dropped' when the delivery was not attempted
   */
  async claim(job: KnownDelivery, work: () => Promise<'done' | 'dropped'>): Promise<void> {
    const key = keyOf(job);
    if (this.#claims.has(key)) return;
    const held = { sending: false, ...job };
    const claim: Claim = { held, dueMs: performance.now() + GRACE_MS, untilMs: -Infinity, isRecorded: false };
    this.#claims.set(key, claim);
    try {
      const outcome = await work();
      if (outcome === 'dropped' && claim.isRecorded) this.#dropped.push(claim);
    } finally {
      this.#claims.delete(key);
    }
  }

  /**
   * A claimed delivery's next attempt has begun, and with it a lease.
   * @param requestedAtMs `performance.now()` from before the lease was requested, so that its end is never overestimated
   * @returns whether the lease is certain to be still ours
   */
  begin(delivery: KnownDelivery, requestedAtMs: number): () => boolean {
    const claim = this.#claims.get(keyOf(delivery));
    if (!claim) throw new Error(`delivery ${delivery.deliveryid} is not claimed`);
    claim.held = { ...claim.held, starts: delivery.starts + 1, sending: true };
    this.#extend(claim, requestedAtMs, true);
    return () => performance.now() < claim.untilMs;
  }

  /** Releases the leases of dropped deliveries, so that another worker need not wait for them. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#recording.values());
    await this.#record(this.#dropped.splice(0), 0);
  }

  #renew(sending: boolean): void {
    if (this.#recording.has(sending)) return;
    const nowMs = performance.now();
    const due = [...this.#claims.values()].filter(
      (claim) => claim.held.sending === sending && claim.dueMs <= nowMs,
    );
    if (due.length === 0) return;
    const recording = this.#record(due, this.leaseMs).finally(() => this.#recording.delete(sending));
    this.#recording.set(sending, recording);
  }

  /** Without a lease a delivery may be composed twice but is still sent once: `startSending` is the fence. */
  async #record(claims: readonly Claim[], leaseMs: number): Promise<void> {
    if (claims.length === 0) return;
    const requestedAtMs = performance.now();
    const held = claims.map((claim) => claim.held);
    let extended: readonly boolean[];
    try {
      extended = await extendLeases(this.ledger, held, leaseMs);
    } catch (error) {
      this.log.warn({ err: error }, 'leases could not be recorded or renewed');
      return;
    }
    claims.forEach((claim, index) => {
      // Its attempt has begun meanwhile, with a lease of its own.
      if (claim.held !== held[index]) return;
      claim.isRecorded = true;
      this.#extend(claim, requestedAtMs, extended[index] === true);
    });
  }

  #extend(claim: Claim, requestedAtMs: number, isOurs: boolean): void {
    claim.untilMs = isOurs ? requestedAtMs + this.#usableMs : -Infinity;
    claim.dueMs = requestedAtMs + (claim.held.sending ? this.#usableMs / 3 : this.leaseMs / 2);
  }
}

const keyOf = ({ deliveryid, starts }: KnownDelivery): string => `${deliveryid} ${starts}`;
