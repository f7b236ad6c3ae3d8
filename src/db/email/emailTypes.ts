import type { Ledger } from '../pool/ledgerPool.js';
import { sql, statement } from '../sql/sql.js';

/** An email type as stored: any text may be a template. */
export interface EmailType {
  readonly syntax: 'jinja2' | 'liquid';
  /** Whether a missing name or attribute renders as nothing or fails the email. */
  readonly undefined?: 'lenient' | 'strict';
  readonly template: string;
  readonly subject: string;
  readonly sender: string;
  /** A list of templates, or one that renders to a JSON list. */
  readonly recipients: readonly string[] | string;
  readonly queries: readonly EmailQuery[];
  readonly options: {
    readonly cc?: readonly string[] | string | null;
    readonly bcc?: readonly string[] | string | null;
  };
  /** Names of attachments: `file`, queries, or columns of the record. */
  readonly attachments?: readonly string[];
  /** Null: derived from the HTML. `none`: no text part. */
  readonly text?: string | null;
  readonly preheader?: string | null;
  /** Renders to one or more addresses. */
  readonly reply_to?: string | null;
  /** Templates by header name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly categories?: readonly string[];
  /** Renders to a locale. */
  readonly locale?: string | null;
  /** What its recipients can unsubscribe from: email of this type, or all that has a link to unsubscribe. */
  readonly unsubscribe?: 'none' | 'type' | 'all';
  /** Sources of the layouts that its templates load, by name. */
  readonly layouts?: Readonly<Record<string, string>> | null;
}

/** A query whose result the templates see under `outvar`. */
export interface EmailQuery {
  readonly query: string;
  readonly outvar: string;
  readonly filter?: string | null;
  readonly ordering?: readonly string[] | string | null;
  readonly limit?: number | null;
  readonly offset?: number | null;
}

/**
 * SQL: changes with every update of an email type `t`, and never repeats. Transaction ids alone would: a server that starts
 * from an older backup, or takes over from another, reuses them.
 */
export const TYPE_VERSION = sql`t.xmin || ' ' || pg_postmaster_start_time()`;

/** SQL: the layouts that the templates of an email type `t` load. Changing a layout changes the version of each such type. */
const LAYOUTS = sql`(select json_object_agg(l.name, l.template) from rowpost.email_layouts l
  where l.tenantid = t.tenantid and (t.any_layout or l.name = any (t.layout_names)))`;

/** @returns undefined when the type no longer exists. `version` is comparable with `LoadedDelivery.typeVersion`. */
export async function loadEmailType(
  ledger: Ledger,
  tenantid: number,
  emailType: string,
): Promise<(EmailType & { readonly version: string }) | undefined> {
  const rows = await ledger.query<EmailType & { version: string }>(LOAD, [tenantid, emailType]);
  return rows[0];
}

/** @returns the first existing one of the names, case-insensitively */
export async function loadEmailVariant(
  ledger: Ledger,
  tenantid: number,
  names: readonly string[],
): Promise<EmailType | undefined> {
  const rows = await ledger.query<EmailType>(LOAD_VARIANT, [
    tenantid,
    names.map((name) => name.toLowerCase()),
  ]);
  return rows[0];
}

const COLUMNS = sql`syntax, template, subject, sender, recipients, queries, options, attachments,
      text, preheader, reply_to, headers, categories, undefined, unsubscribe, locale, ${LAYOUTS} as layouts`;

const LOAD = {
  name: 'email_type_load',
  text: statement`select ${TYPE_VERSION} as version, ${COLUMNS}
    from rowpost.email_types t where tenantid = $1::int and email_type = $2::text`,
};

// A tenant has few types: all of them are scanned.
const LOAD_VARIANT = {
  name: 'email_variant_load',
  text: statement`select ${COLUMNS} from rowpost.email_types t
    where tenantid = $1::int and lower(email_type) = any ($2::text[])
    order by array_position($2::text[], lower(email_type)), email_type limit 1`,
};
