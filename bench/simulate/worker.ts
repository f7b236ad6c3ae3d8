import type { Thread } from './machine.js';
import type { Job, Ledger, Mail } from './mail.js';
import type { Queue } from './queue.js';
import { Coalescer, Connections } from './shares.js';
import { MAIL_SHARE, STEP, TENANT_CONNECTIONS, type Site } from './site.js';
import { createShare, Slots } from './slots.js';

/** Of PG_POOL = 24, as `src/db/pool/connectionBudget.ts` divides them. */
const LEDGER_CONNECTIONS = 6;
/** Mails of larger batches are loaded once they have a slot. */
const MAX_PRELOADED = 8;
const MAX_COALESCED = 200;

/** A worker process: from a job to the provider's answer, as `src/worker/evaluateBatch.ts`. */
export class Worker {
  readonly #thread: Thread;
  readonly #slots: Slots;
  readonly #tenants = new Connections(TENANT_CONNECTIONS);
  readonly #ledgerConnections = new Connections(LEDGER_CONNECTIONS);
  readonly #load: Coalescer;
  readonly #start: Coalescer;
  readonly #finish: Coalescer;
  readonly #known: ReturnType<Site['knownTenants']>;
  #jobs = 0;
  #isFetching = false;
  #isWaiting = false;

  constructor(
    private readonly site: Site,
    private readonly queue: Queue,
    private readonly ledger: Ledger,
    /** WORKER_CONCURRENCY: jobs of batches in hand, and mails. */
    private readonly concurrency: number,
    private readonly send: (mail: Mail, then: () => void) => void,
  ) {
    this.#thread = site.startThread('worker');
    this.#known = site.knownTenants();
    this.#slots = new Slots(
      site.simulation,
      concurrency,
      createShare(site.simulation, concurrency, this.#thread),
    );
    this.#load = this.#coalesce((then) => site.query({}, then));
    this.#start = this.#coalesce((then, mails) => site.commit({ mail: MAIL_SHARE.start * mails }, then));
    this.#finish = this.#coalesce((then, mails) => site.commit({ mail: MAIL_SHARE.finish * mails }, then));
    this.#fetch();
  }

  #coalesce(run: (then: () => void, mails: number) => void): Coalescer {
    return new Coalescer(MAX_COALESCED, (mails, then) =>
      this.#ledgerConnections.acquire((release) =>
        run(() => {
          release();
          this.#thread.run({}, then);
        }, mails),
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
      this.site.query({ batch: 1, mail: MAIL_SHARE.close * events }, () => {
        release();
        this.ledger.close(job.batch);
        this.#thread.run({ batch: 0.5 }, () => this.#sendAll(job));
      }),
    );
  }

  #sendAll({ batch, mails }: Job): void {
    let left = mails.length;
    const end = (): void => {
      left -= 1;
      if (left > 0) return;
      this.site.askRedis({ batch: 1 }, () => {
        this.#jobs -= 1;
        this.#thread.run({}, () => this.#fetch());
      });
    };
    for (const mail of mails) {
      this.#slots.take(mail.tenantid, () => {
        const compose = (): void => this.#compose(mail, end);
        if (batch.events > MAX_PRELOADED) this.#load.ask(compose);
        else compose();
      });
    }
  }

  #compose(mail: Mail, end: () => void): void {
    const query = (strange: number): void =>
      this.#tenants.acquire((release) =>
        this.site.query({ mail: MAIL_SHARE.query, strange }, () => {
          release();
          this.#thread.run(STEP, () => this.#start.ask(() => this.#sendOne(mail, end)));
        }),
      );
    this.#thread.run(STEP, () => this.site.enter(this.#thread, mail.tenantid, this.#known, query));
  }

  #sendOne(mail: Mail, end: () => void): void {
    this.ledger.begin(mail.tenantid);
    this.#thread.run(STEP, () =>
      this.send(mail, () =>
        this.#thread.run(STEP, () =>
          this.#finish.ask(() => {
            this.#slots.giveBack(mail.tenantid);
            end();
          }),
        ),
      ),
    );
  }
}
