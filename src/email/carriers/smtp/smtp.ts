import { cleanOutcome, redact } from '../exchangeOutcome.js';
import type { CarrierDefinition, LoadedEmail } from '../carrier.js';
import { MAX_EMAIL_BYTES } from '../../message/emailSize.js';
import { toMime } from '../../message/mime.js';
import type { SendContext, SendOutcome } from '../sending.js';
import { FIELDS, secretsOf, type SmtpAccount } from './account.js';
import { Late, readAccepted, readFailure, readPartial, type Progress } from './smtpOutcome.js';
import { SmtpPool } from './smtpPool.js';
import { isTemporary, type SmtpError } from './smtpReply.js';
import { Deferred, SmtpSession, type Transmission } from './smtpSession.js';

/** A server of the tenant's choice. */
export const smtp: CarrierDefinition<SmtpAccount> = {
  kind: 'smtp',
  title: 'SMTP server',
  fields: FIELDS,
  // Servers must accept a hundred recipients (RFC 5321, 4.5.3.1.8), and announce their maximum size.
  limits: {
    maxRecipients: 100,
    maxBytes: MAX_EMAIL_BYTES,
    allowsUtf8Addresses: true,
    allowsEmptyFiles: true,
  },
  // Of companies whose servers it may be.
  headerPrefixes: ['mj', 'mailjet', 'msys', 'mc'],
  baseUrls: [],
  open({ smtpAllowPrivateNetwork: allowPrivateNetwork, hostname }) {
    const sessionOptions = { allowPrivateNetwork, hostname };
    const pool = new SmtpPool(sessionOptions);
    return {
      send: (email, context) => send(pool, email, context),
      async verify(account, deadlineMs) {
        try {
          await within(deadlineMs, async (signal) => {
            (await SmtpSession.open(account, sessionOptions, signal)).close();
          });
          return { ok: true };
        } catch (error) {
          const outcome = readFailure(error, UNSENT);
          const message =
            'message' in outcome ? outcome.message.replace(/; the email did not leave$/, '') : '';
          return { ok: false, message: redact(message, secretsOf(account)) };
        }
      },
      close: () => pool.close(),
    };
  },
};

async function send(
  pool: SmtpPool,
  email: LoadedEmail,
  { account, deadlineMs, mayStart, mayRetry = true, mayRepeat = true }: SendContext<SmtpAccount>,
): Promise<SendOutcome> {
  const message = await toMime(email, account.dkim);
  const from = email.sender.email;
  const all = [...email.recipients, ...email.cc, ...email.bcc].map(({ email }) => email);
  const progress: Progress = { accepted: [], refused: [], rest: all };
  let transmission: Transmission = { ...UNSENT };
  const sendRest = async (session: SmtpSession, signal: AbortSignal): Promise<void> => {
    while (progress.rest.length > 0) {
      transmission = { ...UNSENT };
      const isForAll = mayRetry && progress.accepted.length === 0;
      const envelope = { from, to: progress.rest };
      const one = await session.send(envelope, message, { isForAll, mayStart }, transmission, signal);
      progress.accepted.push(one.response);
      progress.refused.push(...one.refused);
      progress.rest = one.surplus;
    }
  };
  try {
    await within(deadlineMs, (signal) =>
      pool.run(account, signal, async (lend) => {
        for (;;) {
          const { session, isUsed } = await lend();
          const { length } = progress.accepted;
          try {
            await sendRest(session, signal);
            return;
          } catch (error) {
            // A connection can't be reused in the middle of an email.
            session.close();
            const isSpent = progress.accepted.length > length;
            const mayBeRepeated = !transmission.dotMayHaveLeft && !transmission.fenced && !signal.aborted;
            // If the server closed it while it was idle, or takes no more over it, it has received nothing of this transaction.
            const isOver = ((isUsed || isSpent) && meansClosed(error)) || (isSpent && refusesForNow(error));
            if (!isOver || !mayBeRepeated) throw error;
          }
        }
      }),
    );
    return cleanOutcome(readAccepted(progress, mayRepeat), secretsOf(account));
  } catch (error) {
    const failure = readFailure(error, transmission, progress.rest);
    const outcome = progress.accepted.length > 0 ? readPartial(failure, progress, mayRepeat) : failure;
    return cleanOutcome(outcome, secretsOf(account));
  }
}

const UNSENT: Transmission = { dotMayHaveLeft: false, fenced: false, isFull: false };

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

function refusesForNow(error: unknown): boolean {
  return !(error instanceof Deferred) && isTemporary(error as SmtpError);
}

function meansClosed(error: unknown): boolean {
  if (error instanceof Deferred) return false;
  const { response, responseCode } = error as SmtpError;
  return response === undefined || responseCode === 421;
}
