import { Router, type Request } from 'express';
import { AppError } from '../../foundation/errors.js';
import { CONSOLE } from './consolePath.js';
import { readDelivery, requireId } from './deliveryPages.js';
import { toDelivery } from './deliveryView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const SENT = `${CONSOLE}/deliveries/:deliveryid/sent`;

const READ = `query ($id: ID!, $attempt: Int) {
  Utility {
    sent_mail(deliveryid: $id, attempt: $attempt) {
      attempt subject html text sender recipients cc bcc reply_to headers categories
      attachments { filename mimetype size inline }
    }
  }
}`;

interface SentEmail {
  readonly attempt: number;
  readonly subject: string;
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The email of an attempt as it was sent. */
export function sentEmailPages({ page }: PageHandlers): Router {
  const sent = page(async ({ query, show, isAdmin }, req) => {
    const email = await readSentEmail(query, req);
    const row = await readDelivery({ query, isAdmin }, req);
    const address = `${CONSOLE}/deliveries/${row.deliveryid}/sent`;
    const attempt = row.email_attempt_collection.find((each) => each.attempt === email.attempt);
    await show('sent-email', {
      title: email.subject === '' ? 'Email' : email.subject,
      delivery: toDelivery(row),
      email,
      outcome: attempt?.outcome ?? 'not known yet',
      headers: Object.entries(email.headers),
      frame: `${address}/body?attempt=${email.attempt}`,
      others: row.email_attempt_collection
        .filter((each) => each.carrier !== null && each.attempt !== email.attempt)
        .map(({ attempt: number, outcome }) => ({
          number,
          outcome,
          address: `${address}?attempt=${number}`,
        })),
    });
  });

  const body = page(async ({ query, showEmail }, req) => {
    showEmail((await readSentEmail(query, req)).html);
  });

  return Router().get(SENT, sent).get(`${SENT}/body`, body);
}

async function readSentEmail(query: Visit['query'], req: Request): Promise<SentEmail> {
  const given = req.query['attempt'];
  const attempt = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : undefined;
  const { Utility } = await query<{ Utility: { sent_mail: SentEmail | null } }>(READ, {
    id: requireId(req),
    ...(attempt === undefined ? {} : { attempt }),
  });
  if (Utility.sent_mail) return Utility.sent_mail;
  throw new AppError('NOT_FOUND', 'No email of this delivery is kept.', {
    hint: 'Emails of up to 1 MiB are kept for KEEP_EMAIL_DAYS after the change. By default it is 0, which keeps none.',
  });
}
