import type { Thread } from './machine.js';
import type { Job, Ledger, Email } from './email.js';
import type { Queue } from './queue.js';
import { BatchedCall, Connections } from './shares.js';
import { EMAIL_SHARE, STEP, TENANT_CONNECTIONS, type Site } from './site.js';
import { createShare, Slots } from './slots.js';

/** Of PG_POOL = 24, as `src/db/pool/connectionBudget.ts` divides them. */
const LEDGER_CONNECTIONS = 6;
/** Emails of larger batches are loaded once they have a slot. */
const MAX_PRELOADED = 8;
const MAX_COALESCED = 200;

/** A worker process: from a job to the carrier's response, as `src/worker/evaluateBatch.ts`. */
export class Worker {
  readonly #thread: Thread;
  readonly #slots: Slots;
  readonly #tenants = new Connections(TENANT_CONNECTIONS);
  readonly #ledgerConnections = new Connections(LEDGER_CONNECTIONS);
  readonly #load: BatchedCall;
  readonly #start: BatchedCall;
  readonly #finish: BatchedCall;
  readonly #known: ReturnType<Site['knownTenants']>;
  #jobs = 0;
  #isFetching = false;
  #isWaiting = false;

  constructor(
    private readonly site: Site,
    private readonly queue: Queue,
    private readonly ledger: Ledger,
    /** WORKER_CONCURRENCY: jobs of batches in hand, and emails. */
    private readonly concurrency: number,
    private readonly send: (email: Email, then: () => void) => void,
  ) {
    this.#thread = site.startThread('worker');
    this.#known = site.knownTenants();
    this.#slots = new Slots(
      site.simulation,
      concurrency,
      createShare(site.simulation, concurrency, this.#thread),
    );
    this.#load = this.#coalesce((then) => site.query({}, then));
    this.#start = this.#coalesce((then, emails) => site.commit({ email: EMAIL_SHARE.start * emails }, then));
    this.#finish = this.#coalesce((then, emails) =>
      site.commit({ email: EMAIL_SHARE.finish * emails }, then),
    );
    this.#fetch();
  }

  #coalesce(run: (then: () => void, emails: number) => void): BatchedCall {
    return new BatchedCall(MAX_COALESCED, (emails, then) =>
      this.#ledgerConnections.acquire((release) =>
        run(() => {
          release();
          this.#thread.run({}, then);
        }, emails),
      ),
    );
  }

  #fetch(): void {
    if (this.#isFetching || this.#isWaiting || this.#jobs === this.concurrency) return;
    const job = this.queue.take();
    if (!job) {
      this.#isWaiting = true;
      this.queue.wait(() => {
        this.#isWaiting = false;
        this.#fetch();
      });
      return;
    }
    this.#isFetching = true;
    this.#jobs += 1;
    this.site.askRedis({ batch: 1 }, () =>
      this.#thread.run({ batch: 0.5 }, () => {
        this.#isFetching = false;
        this.#close(job);
        this.#fetch();
      }),
    );
  }

  #close(job: Job): void {
    const { events } = job.batch;
    this.#ledgerConnections.acquire((release) =>
      this.site.query({ batch: 1, email: EMAIL_SHARE.close * events }, () => {
        release();
        this.ledger.close(job.batch);
        this.#thread.run({ batch: 0.5 }, () => this.#sendAll(job));
      }),
    );
  }

  #sendAll({ batch, emails }: Job): void {
    let left = emails.length;
    const end = (): void => {
      left -= 1;
      if (left > 0) return;
      this.site.askRedis({ batch: 1 }, () => {
        this.#jobs -= 1;
        this.#thread.run({}, () => this.#fetch());
      });
    };
    for (const email of emails) {
      this.#slots.take(email.tenantid, () => {
        const compose = (): void => this.#compose(email, end);
        if (batch.events > MAX_PRELOADED) this.#load.ask(compose);
        else compose();
      });
    }
  }

  #compose(email: Email, end: () => void): void {
    const query = (strange: number): void =>
      this.#tenants.acquire((release) =>
        this.site.query({ email: EMAIL_SHARE.query, strange }, () => {
          release();
          this.#thread.run(STEP, () => this.#start.ask(() => this.#sendOne(email, end)));
        }),
      );
    this.#thread.run(STEP, () => this.site.enter(this.#thread, email.tenantid, this.#known, query));
  }

  #sendOne(email: Email, end: () => void): void {
    this.ledger.begin(email.tenantid);
    this.#thread.run(STEP, () =>
      this.send(email, () =>
        this.#thread.run(STEP, () =>
          this.#finish.ask(() => {
            this.#slots.giveBack(email.tenantid);
            end();
          }),
        ),
      ),
    );
  }
}
