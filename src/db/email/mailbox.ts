import type { Database } from '../pool/database.js';
import { sql, statement } from '../sql/sql.js';
import { toPostgresJson } from '../../foundation/postgresText.js';
import type { StatementRunner } from '../sql/statementRunner.js';

/** Email captured locally instead of sent; columns by their own names. Addresses are formatted as `Name <a@b>`. */
export interface KeptEmail {
  readonly tenantid: number;
  /** Null for a test email. */
  readonly deliveryid: string | null;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly html: string;
  /** Null when the email is HTML alone. */
  readonly text: string | null;
  readonly reply_to: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly categories: readonly string[];
  /** Metadata only; the bytes are not copied. */
  readonly attachments: readonly {
    readonly filename: string;
    readonly mimetype: string;
    readonly size: number;
  }[];
}

/** @returns the email's id; unchanged when the delivery's email is kept already. */
export async function keepEmail({ pool }: Pick<Database, 'pool'>, email: KeptEmail): Promise<string> {
  const { rows } = await pool.query<{ mailid: string }>(KEEP, [toPostgresJson(email)]);
  const row = rows[0];
  if (!row) throw new Error('the mailbox returned no id');
  return row.mailid;
}

const COLUMNS = sql`tenantid, deliveryid, sender, recipients, cc, bcc, subject, html, attachments, text, reply_to, headers, categories`;

// A redriven delivery replaces its email: the page shows what was sent last.
const KEEP = statement`
  insert into rowpost.mailbox (${COLUMNS})
  select ${COLUMNS} from json_populate_record(null::rowpost.mailbox, $1::json)
  on conflict (tenantid, deliveryid) do update set time = now(), sender = excluded.sender,
    recipients = excluded.recipients, cc = excluded.cc, bcc = excluded.bcc, subject = excluded.subject,
    html = excluded.html, attachments = excluded.attachments, text = excluded.text, reply_to = excluded.reply_to,
    headers = excluded.headers, categories = excluded.categories
  returning mailid::text as mailid`;

export interface OpenedEmail extends KeptEmail {
  readonly mailid: string;
  readonly time: Date;
}

/** A line of the mailbox page. */
export type EmailSummary = Pick<
  OpenedEmail,
  'mailid' | 'tenantid' | 'deliveryid' | 'time' | 'sender' | 'recipients' | 'subject'
>;

/** Newest first. */
export async function listEmail(
  db: StatementRunner,
  page: { readonly limit: number; readonly offset: number; readonly tenantid?: number },
): Promise<readonly EmailSummary[]> {
  const { rows } = await db.query<EmailSummary>(
    `select mailid, tenantid, deliveryid, time, sender, recipients, subject from rowpost.mailbox
     where $1::int is null or tenantid = $1 order by mailid desc limit $2 offset $3`,
    [page.tenantid ?? null, page.limit, page.offset],
  );
  return rows;
}

export async function readEmail(db: StatementRunner, mailid: string): Promise<OpenedEmail | undefined> {
  const { rows } = await db.query<OpenedEmail>('select * from rowpost.mailbox where mailid = $1', [mailid]);
  return rows[0];
}
