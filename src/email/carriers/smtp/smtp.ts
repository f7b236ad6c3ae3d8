import { cleanOutcome, redact } from '../exchangeOutcome.js';
import { secretsOf, type SmtpAccount } from '../account.js';
import type { Carrier, LoadedEmail } from '../carrier.js';
import type { EmailLimits } from '../limits.js';
import { MAX_EMAIL_BYTES } from '../../message/emailSize.js';
import { toMime } from '../../message/mime.js';
import type { SendContext, SendOutcome } from '../sending.js';
import { Late, readAccepted, readFailure } from './smtpOutcome.js';
import { SmtpPool } from './smtpPool.js';
import { Deferred, SmtpSession, type Accepted, type SmtpError, type Transmission } from './smtpSession.js';

/** Servers must accept a hundred recipients (RFC 5321, 4.5.3.1.8), and announce their maximum size. */
const LIMITS: EmailLimits = {
  maxRecipients: 100,
  maxBytes: MAX_EMAIL_BYTES,
  allowsUtf8Addresses: true,
  allowsEmptyFiles: true,
};

export interface SmtpOptions {
  readonly smtpAllowPrivateNetwork: boolean;
  readonly hostname: string;
}

/** Sends through a server of the tenant's choice. */
export function createSmtp({
  smtpAllowPrivateNetwork: allowPrivateNetwork,
  hostname,
}: SmtpOptions): Carrier<SmtpAccount> {
  const sessionOptions = { allowPrivateNetwork, hostname };
  const pool = new SmtpPool(sessionOptions);
  return {
    limits: LIMITS,
    send: (email, context) => send(pool, email, context),
    async verify(account, deadlineMs) {
      try {
        await within(deadlineMs, async (signal) => {
          (await SmtpSession.open(account, sessionOptions, signal)).close();
        });
        return { ok: true };
      } catch (error) {
        const outcome = readFailure(error, { dotMayHaveLeft: false, fenced: false });
        const message = 'message' in outcome ? outcome.message.replace(/; the email did not leave$/, '') : '';
        return { ok: false, message: redact(message, secretsOf(account)) };
      }
    },
    close: () => pool.close(),
  };
}

async function send(
  pool: SmtpPool,
  email: LoadedEmail,
  { account, deadlineMs, mayStart }: SendContext<SmtpAccount>,
): Promise<SendOutcome> {
  const transmission: Transmission = { dotMayHaveLeft: false, fenced: false };
  const envelope = {
    from: email.sender.email,
    to: [...email.recipients, ...email.cc, ...email.bcc].map(({ email }) => email),
  };
  try {
    const message = await toMime(email, account.dkim);
    const accepted = await within(deadlineMs, (signal) =>
      pool.run<Accepted>(account, signal, async (lend) => {
        for (;;) {
          const { session, isUsed } = await lend();
          try {
            return await session.send(envelope, message, mayStart, transmission, signal);
          } catch (error) {
            // A connection can't be reused in the middle of an email.
            session.close();
            // If the server closed it while it was idle, it has received nothing of this email.
            const mayBeRepeated = !transmission.dotMayHaveLeft && !transmission.fenced && !signal.aborted;
            if (!isUsed || !mayBeRepeated || !meansClosed(error)) throw error;
          }
        }
      }),
    );
    return cleanOutcome(readAccepted(accepted), secretsOf(account));
  } catch (error) {
    return cleanOutcome(readFailure(error, transmission), secretsOf(account));
  }
}

/** @param ms the limit for everything, from waiting for a connection to the last reply */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Late()), ms);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

function meansClosed(error: unknown): boolean {
  if (error instanceof Deferred) return false;
  const { response, responseCode } = error as SmtpError;
  return response === undefined || responseCode === 421;
}
