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

interface SentMail {
  readonly attempt: number;
  readonly subject: string;
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The mail of an attempt as it was sent. */
export function sentMailPages({ page }: PageHandlers): Router {
  const sent = page(async ({ ask, show, isAdmin }, req) => {
    const mail = await readSentMail(ask, req);
    const row = await readDelivery({ ask, isAdmin }, req);
    const address = `${CONSOLE}/deliveries/${row.deliveryid}/sent`;
    const attempt = row.email_attempt_collection.find((each) => each.attempt === mail.attempt);
    await show('sent-mail', {
      title: mail.subject === '' ? 'Mail' : mail.subject,
      delivery: toDelivery(row),
      mail,
      outcome: attempt?.outcome ?? 'not known yet',
      headers: Object.entries(mail.headers),
      frame: `${address}/body?attempt=${mail.attempt}`,
      others: row.email_attempt_collection
        .filter((each) => each.carrier !== null && each.attempt !== mail.attempt)
        .map(({ attempt: number, outcome }) => ({
          number,
          outcome,
          address: `${address}?attempt=${number}`,
        })),
    });
  });

  const body = page(async ({ ask, showMail }, req) => {
    showMail((await readSentMail(ask, req)).html);
  });

  return Router().get(SENT, sent).get(`${SENT}/body`, body);
}

async function readSentMail(ask: Visit['ask'], req: Request): Promise<SentMail> {
  const given = req.query['attempt'];
  const attempt = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : undefined;
  const { Utility } = await ask<{ Utility: { sent_mail: SentMail | null } }>(READ, {
    id: requireId(req),
    ...(attempt === undefined ? {} : { attempt }),
  });
  if (Utility.sent_mail) return Utility.sent_mail;
  throw new AppError('NOT_FOUND', 'No mail of this delivery is kept.', {
    hint: 'Mails of up to 1 MiB are kept for KEEP_MAIL_DAYS after the change. By default it is 0, which keeps none.',
  });
}
