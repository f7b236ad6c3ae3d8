import { setTimeout as delay } from 'node:timers/promises';
import {
  findResettable,
  makeResetLink,
  readShownName,
  type ResettableRole,
} from '../../control/roles/forgottenPassword.js';
import { readPasswordSender } from '../../control/tenants/passwordSender.js';
import { readAccounts } from '../../db/email/emailAccounts.js';
import { findSuppressed, UNSUBSCRIBED } from '../../db/email/suppressions.js';
import { comparable, type Address } from '../../email/addresses.js';
import { openAccounts } from '../../email/carriers/openAccounts.js';
import type { SendOutcome } from '../../email/carriers/sending.js';
import { AppError } from '../../foundation/errors.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import type { SignInEvents } from '../auth/signInEvents.js';
import type { WebDeps } from '../http/webDeps.js';
import { renderView } from '../pages/sendPage.js';

/** Requests of which it is found out whether they get an email: for that, PostgreSQL is all that is waited for. */
const PREPARING = { max: 8, perTenant: 2, waiting: 50, waitMs: 60_000 };
/** Emails that wait for a carrier, which may be a server of the tenant. A tenant's own wait for each other, and no others do. */
const SENDING = { perTenant: 2, waiting: 50, waitMs: 60_000 };
/** As long as a carrier may ask to wait. */
const MAX_WAIT_MS = 60_000;

interface Content {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Below the first paragraph. */
  readonly link?: string;
}

interface Prepared {
  readonly role: ResettableRole;
  readonly sender: Address;
  readonly content: Content;
}

interface Requested {
  readonly tenantid: number;
  readonly login: string;
  /** Of the client. */
  readonly address: string;
}

/**
 * Emails about forgotten passwords, sent by the tenant's carriers after the response to the request: neither that nor its
 * time tells whether there is such a role. What became of one is a sign-in event.
 */
export class PasswordEmails implements Stoppable {
  readonly #preparing = new TenantLimiter(PREPARING);
  readonly #sending = new TenantLimiter(SENDING);
  readonly #started = new Set<Promise<void>>();

  constructor(private readonly deps: WebDeps & { readonly signInEvents: Pick<SignInEvents, 'note'> }) {}

  /** Whether the tenant sends such emails. */
  async areSent(tenantid: number): Promise<boolean> {
    return (await this.#senderOf(tenantid)) !== undefined;
  }

  /** Sends a link, if a role with this login may choose its password by it. */
  request(requested: Requested): void {
    this.#start(requested, async (role) => {
      const { database, config } = this.deps;
      const link = await makeResetLink(database, role, config.baseUrl);
      if (link === undefined) return undefined;
      return (name) => ({
        subject: `A new password for ${name}`,
        link,
        paragraphs: [
          `Somebody, probably you, asked for a new password for ${requested.login} at ${name}. To choose one, open this link within an hour. It works once.`,
          `The request came from ${requested.address}. If it was not yours, do nothing: your password stays as it is.`,
        ],
      });
    });
  }

  /** Says that the password was changed by a link. */
  confirm(requested: Requested): void {
    this.#start(requested, () =>
      Promise.resolve((name) => ({
        subject: `Your password for ${name} was changed`,
        paragraphs: [
          `The password of ${requested.login} at ${name} was changed by a link that was sent to this address, from ${requested.address}. All that was signed in has been signed out, and API keys have ended.`,
          'If it was not you, somebody else reads your email. Secure your mailbox first, then ask for another new password, and tell an administrator.',
        ],
      })),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#started);
  }

  #start(
    requested: Requested,
    write: (role: ResettableRole) => Promise<((name: string) => Content) | undefined>,
  ): void {
    const { tenantid, address } = requested;
    const deliver = async (): Promise<void> => {
      const prepared = await this.#preparing.run(tenantid, () => this.#prepare(requested, write));
      if (!prepared) return;
      const reason = await this.#sending
        .run(tenantid, () => this.#send(tenantid, prepared))
        .catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'TOO_BUSY') return error.code;
          throw error;
        });
      const { roleid } = prepared.role;
      this.deps.signInEvents.note({ tenantid, kind: 'password_email', roleid, reason, address });
    };
    const work = deliver()
      .catch((error: unknown) => {
        this.deps.log.warn({ err: error, tenantid }, 'an email about a password could not be sent');
      })
      .finally(() => {
        this.#started.delete(work);
      });
    this.#started.add(work);
  }

  /** @returns undefined if there is nothing to send */
  async #prepare(
    { tenantid, login }: Requested,
    write: (role: ResettableRole) => Promise<((name: string) => Content) | undefined>,
  ): Promise<Prepared | undefined> {
    const role = await findResettable(this.deps.database, tenantid, login);
    const sender = role && (await this.#senderOf(tenantid));
    const content = role && sender && (await write(role));
    if (!content) return undefined;
    return { role, sender, content: content(await readShownName(this.deps.database.pool, tenantid)) };
  }

  #senderOf(tenantid: number): Promise<Address | undefined> {
    const { database, carriers } = this.deps;
    return readPasswordSender(database.pool, tenantid, carriers.needsAccount);
  }

  /** @returns why it was not sent */
  async #send(
    tenantid: number,
    { role: { to }, sender, content: { subject, paragraphs, link } }: Prepared,
  ): Promise<string | undefined> {
    const { database, keyRing, carriers, config } = this.deps;
    const address = comparable(to.email);
    const [suppressed] = await findSuppressed(database.ledger, [
      { tenantid, addresses: [address], emailType: null },
    ]);
    const source = suppressed?.get(address);
    // Whoever wants no emails about orders still wants to sign in.
    if (source !== undefined && source !== UNSUBSCRIBED) return 'SUPPRESSED';
    const stored = carriers.needsAccount ? await readAccounts(database.pool, tenantid) : undefined;
    const accounts = stored ? openAccounts(keyRing, tenantid, stored) : [];
    if (stored && stored.waitMs > 0) await delay(Math.min(stored.waitMs, MAX_WAIT_MS));
    const email = {
      tenantid,
      deliveryid: null,
      sender,
      recipients: [to],
      cc: [],
      bcc: [],
      subject,
      html: renderView('password-email', { subject, paragraphs, link }),
      text: [...paragraphs.slice(0, 1), ...(link === undefined ? [] : [link]), ...paragraphs.slice(1)].join(
        '\n\n',
      ),
    };
    let reason = 'EMAIL_APIKEY_MISSING';
    for (const account of carriers.needsAccount ? accounts : [undefined]) {
      const outcome = await carriers.send(email, {
        account,
        deadlineMs: config.sendDeadlineMs,
        mayStart: () => true,
      });
      if (outcome.kind === 'sent') return undefined;
      reason = codeOf(outcome);
    }
    return reason;
  }
}

function codeOf(outcome: Exclude<SendOutcome, { readonly kind: 'sent' }>): string {
  if (outcome.kind === 'rate_limited') return 'RATE_LIMITED';
  if (outcome.kind === 'fenced') throw new Error('these emails are never fenced');
  return outcome.code;
}
