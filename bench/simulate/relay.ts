import type { Batch } from '../../src/db/outbox/batches.js';
import { priorityOf } from '../../src/queue/jobs.js';
import { Admission, type AdmittedBatch } from '../../src/relay/admission.js';
import type { Thread } from './machine.js';
import type { Ledger, Email } from './email.js';
import type { Queue } from './queue.js';
import { EMAIL_SHARE, type Site } from './site.js';

/** As in `src/relay/relay.ts`. */
const BATCHES_PER_POLL = 20;
const ADMIT_MS = 200;
const POLL_MS = 100;

/** The one relay that works, with the admission of the real one. */
export class Relay {
  polls = 0;
  batches = 0;
  readonly #thread: Thread;
  readonly #admission = new Admission();
  /** What is visible and not read yet. */
  #outbox: Email[] = [];
  /** Of batches that are not queued yet. */
  readonly #emails = new Map<string, readonly Email[]>();
  #isWanted = false;
  #isReading = false;
  #isStopped = false;
  /** Polls that were planned before the last poll have lost their reason. */
  #sleep = 0;

  constructor(
    private readonly site: Site,
    private readonly queue: Queue,
    private readonly ledger: Ledger,
    private readonly maxBatch: number,
  ) {
    this.#thread = site.startThread('relay');
    this.#read();
    this.#admit();
  }

  /** Events that nobody has read. */
  get unread(): number {
    return this.#outbox.length;
  }

  commit(email: Email): void {
    this.#outbox.push(email);
  }

  /** A notification. */
  wake(): void {
    if (this.#isStopped) return;
    this.#thread.run({}, () => {
      this.#isWanted = true;
      if (!this.#isReading) this.#read();
    });
  }

  /** Stops reading, or goes on. */
  pause(isStopped: boolean): void {
    this.#isStopped = isStopped;
    if (!isStopped && !this.#isReading) this.#read();
  }

  #read(): void {
    this.#isReading = !this.#isStopped;
    if (this.#isStopped) return;
    this.#isWanted = false;
    const limit = this.maxBatch * BATCHES_PER_POLL;
    const fresh = this.#outbox.slice(0, limit);
    this.#outbox = this.#outbox.slice(limit);
    const hasMore = this.#outbox.length > 0 && fresh.length === limit;
    this.site.query({ email: EMAIL_SHARE.poll * fresh.length }, () => {
      const batches = this.#batch(fresh);
      this.#thread.run({ batch: batches.length, email: fresh.length }, () => {
        this.#publish(this.#admission.offer(batches), () => {
          if (hasMore || this.#isWanted) {
            this.#read();
            return;
          }
          this.#isReading = false;
          this.#pollLater();
        });
      });
    });
  }

  #pollLater(): void {
    const sleep = ++this.#sleep;
    this.site.simulation.after(POLL_MS, () => {
      if (sleep === this.#sleep && !this.#isReading)
        this.#thread.run({}, () => !this.#isReading && this.#read());
    });
  }

  /** Round-robin by tenant, as the real poll orders them. */
  #batch(emails: readonly Email[]): readonly Batch[] {
    if (emails.length === 0) return [];
    this.polls += 1;
    const byTenant = new Map<number, Email[]>();
    for (const email of emails) {
      const group = byTenant.get(email.tenantid);
      if (group) group.push(email);
      else byTenant.set(email.tenantid, [email]);
    }
    const batches: Batch[] = [];
    for (let part = 0, isLeft = true; isLeft; part++) {
      isLeft = false;
      for (const [tenantid, group] of byTenant) {
        const own = group.slice(part * this.maxBatch, (part + 1) * this.maxBatch);
        if (own.length === 0) continue;
        isLeft = true;
        const batchid = String(++this.batches);
        this.#emails.set(batchid, own);
        batches.push({ batchid, tenantid, events: own.length, createtime: '' });
      }
    }
    return batches;
  }

  #publish(admitted: readonly AdmittedBatch[], then: () => void): void {
    if (admitted.length === 0) {
      then();
      return;
    }
    this.site.askRedis({ batch: admitted.length }, () =>
      this.#thread.run({}, () => {
        for (const batch of admitted) {
          const emails = this.#emails.get(batch.batchid) ?? [];
          this.#emails.delete(batch.batchid);
          this.queue.add({ batch, emails, priority: priorityOf(batch.ahead) });
        }
        then();
      }),
    );
  }

  #admit(): void {
    const again = (): void => this.site.simulation.after(ADMIT_MS, () => this.#admit());
    if (this.#admission.isIdle) {
      again();
      return;
    }
    this.site.query({}, () => undefined);
    this.site.query({}, () =>
      this.#thread.run({}, () =>
        this.#publish(this.#admission.recount(this.ledger.waiting, this.ledger.takeClosed()), again),
      ),
    );
  }
}
