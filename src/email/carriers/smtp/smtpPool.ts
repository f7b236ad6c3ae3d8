import { Semaphore } from 'async-mutex';
import type { SmtpAccount } from './account.js';
import { SmtpSession, type SessionOptions } from './smtpSession.js';

/** Servers close idle connections, and some limit their number. */
const IDLE_MS = 10_000;
/** Servers allow at least a hundred emails per connection. */
const MAX_EMAILS_PER_CONNECTION = 50;

interface Idle {
  readonly session: SmtpSession;
  readonly timer: NodeJS.Timeout;
}

interface Server {
  readonly slots: Semaphore;
  readonly idle: Idle[];
  /** Emails being sent, or waiting for a connection. */
  users: number;
}

/** A connection for one email. */
export interface Lent {
  readonly session: SmtpSession;
  /** Whether it was idle, so that the server may have closed it. */
  readonly isUsed: boolean;
}

/** Keeps connections open between emails, per account. */
export class SmtpPool {
  readonly #servers = new Map<string, Server>();

  constructor(private readonly options: SessionOptions) {}

  /** Runs the work with one of the account's connections, of which there are at most `maxConnections`. Rejects when the signal aborts. */
  async run<T>(
    account: SmtpAccount,
    signal: AbortSignal,
    work: (lend: () => Promise<Lent>) => Promise<T>,
  ): Promise<T> {
    const key = JSON.stringify(account);
    const server = this.#servers.get(key) ?? {
      slots: new Semaphore(account.maxConnections),
      idle: [],
      users: 0,
    };
    this.#servers.set(key, server);
    server.users += 1;
    const lent: SmtpSession[] = [];
    try {
      const release = await beforeAbort(server.slots.acquire(), signal);
      try {
        return await work(async () => {
          const one = takeIdle(server) ?? {
            session: await SmtpSession.open(account, this.options, signal),
            isUsed: false,
          };
          lent.push(one.session);
          return one;
        });
      } finally {
        for (const session of lent) this.#giveBack(server, key, session);
        release();
      }
    } finally {
      server.users -= 1;
      this.#forgetUnused(key, server);
    }
  }

  close(): void {
    for (const server of this.#servers.values()) {
      for (const { session, timer } of server.idle.splice(0)) {
        clearTimeout(timer);
        session.close();
      }
    }
    this.#servers.clear();
  }

  #giveBack(server: Server, key: string, session: SmtpSession): void {
    if (!session.isOpen) return;
    if (session.sentEmails >= MAX_EMAILS_PER_CONNECTION) {
      session.close();
      return;
    }
    const timer = setTimeout(() => {
      server.idle.splice(server.idle.indexOf(idle), 1);
      session.close();
      this.#forgetUnused(key, server);
    }, IDLE_MS).unref();
    const idle = { session, timer };
    server.idle.push(idle);
  }

  #forgetUnused(key: string, server: Server): void {
    if (server.users === 0 && server.idle.length === 0) this.#servers.delete(key);
  }
}

function takeIdle(server: Server): Lent | undefined {
  for (let idle = server.idle.pop(); idle; idle = server.idle.pop()) {
    clearTimeout(idle.timer);
    if (idle.session.isOpen) return { session: idle.session, isUsed: true };
  }
  return undefined;
}

/** A slot that is granted too late is released immediately. */
async function beforeAbort(slot: Promise<[number, () => void]>, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort);
    void slot.then(([, release]) => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) release();
      else resolve(release);
    });
  });
}
