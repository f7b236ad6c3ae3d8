import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';

/** Mail captured locally instead of sent. Addresses are formatted as `Name <a@b>`. */
export interface KeptMail {
  readonly tenantid: number;
  /** Null for a test mail. */
  readonly deliveryid: string | null;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly html: string;
  /** Null when the mail is HTML alone. */
  readonly text: string | null;
  readonly replyTo: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly categories: readonly string[];
  /** Metadata only; the bytes are not copied. */
  readonly attachments: readonly KeptAttachment[];
}

export interface KeptAttachment {
  readonly filename: string;
  readonly mimetype: string;
  readonly size: number;
}

/** @returns the mail's id; unchanged when the delivery's mail is kept already. */
export async function keepMail({ pool }: Pick<Database, 'pool'>, mail: KeptMail): Promise<string> {
  const { rows } = await pool.query<{ mailid: string }>(KEEP, [
    mail.tenantid,
    mail.deliveryid,
    mail.sender,
    mail.recipients,
    mail.cc,
    mail.bcc,
    mail.subject,
    mail.html,
    JSON.stringify(mail.attachments),
    mail.text,
    mail.replyTo,
    JSON.stringify(mail.headers),
    mail.categories,
  ]);
  const row = rows[0];
  if (!row) throw new Error('the mailbox returned no id');
  return row.mailid;
}

// A redriven delivery replaces its mail: the page shows what was sent last.
const KEEP = `
  insert into rowpost.mailbox (tenantid, deliveryid, sender, recipients, cc, bcc, subject, html, attachments,
    text, reply_to, headers, categories)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  on conflict (tenantid, deliveryid) do update set time = now(), sender = excluded.sender,
    recipients = excluded.recipients, cc = excluded.cc, bcc = excluded.bcc, subject = excluded.subject,
    html = excluded.html, attachments = excluded.attachments, text = excluded.text, reply_to = excluded.reply_to,
    headers = excluded.headers, categories = excluded.categories
  returning mailid::text as mailid`;

/** A line of the mailbox page. */
export interface MailSummary {
  readonly mailid: string;
  readonly tenantid: number;
  readonly deliveryid: string | null;
  readonly time: Date;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly subject: string;
}

/** Newest first. */
export async function listMail(
  knex: Knex,
  page: { readonly limit: number; readonly offset: number; readonly tenantid?: number },
): Promise<readonly MailSummary[]> {
  const query = knex
    .withSchema('rowpost')
    .table('mailbox')
    .select<MailSummary[]>('mailid', 'tenantid', 'deliveryid', 'time', 'sender', 'recipients', 'subject')
    .orderBy('mailid', 'desc')
    .limit(page.limit)
    .offset(page.offset);
  if (page.tenantid !== undefined) void query.where({ tenantid: page.tenantid });
  return query;
}

/** A mail as it is shown; columns by their own names. */
export interface OpenedMail
  extends
    MailSummary,
    Pick<KeptMail, 'cc' | 'bcc' | 'html' | 'text' | 'headers' | 'categories' | 'attachments'> {
  readonly reply_to: readonly string[];
}

export async function readMail(knex: Knex, mailid: string): Promise<OpenedMail | undefined> {
  return knex.withSchema('rowpost').table('mailbox').where({ mailid }).first<OpenedMail>();
}
