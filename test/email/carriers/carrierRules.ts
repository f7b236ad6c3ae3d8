/** A rule that a carrier publishes, or that its users report, and what of a request it is about. */
export interface CarrierRule {
  readonly says: string;
  readonly source: string;
  /** The values of the request that the rule is about. */
  values(request: Request): readonly unknown[];
  holds(value: unknown): boolean;
}

/** A request's body as its carrier reads it. */
export type Request = Readonly<Record<string, unknown>>;

/* eslint-disable @typescript-eslint/no-explicit-any -- requests of several APIs, read by path */
const at = (request: unknown, path: string): any[] =>
  path.split('.').reduce<any[]>(
    (values, name) =>
      values.flatMap((value: unknown) => {
        const members = new Map(Object.entries((value ?? {}) as Request));
        return name === '*' ? [...members.values()] : members.has(name) ? [members.get(name)] : [];
      }),
    [request],
  );
/* eslint-enable @typescript-eslint/no-explicit-any */

const every =
  (...paths: string[]) =>
  (request: Request): readonly unknown[] =>
    paths.flatMap((path) => at(request, path) as unknown[]);
const matches =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    pattern.test(String(value));
const shorterThan =
  (limit: number) =>
  (value: unknown): boolean =>
    String(value).length < limit;

const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const ASCII = /^[ -~]*$/;
const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+$/;
/** Of SES and Resend. */
const TAG = /^[A-Za-z0-9_-]{1,256}$/;

const SENDGRID = 'https://www.twilio.com/docs/sendgrid/api-reference/mail-send';
const POSTMARK = 'https://postmarkapp.com/developer/user-guide/send-email-with-api';
const RESEND = 'https://resend.com/docs/api-reference/emails/send-email';
const SES = 'https://docs.aws.amazon.com/ses/latest/APIReference-V2';
const MAILGUN = 'https://documentation.mailgun.com/docs/mailgun/user-manual';

const BREVO = 'https://developers.brevo.com/reference/send-transac-email';
const ANYMAIL_BREVO = 'https://github.com/anymail/django-anymail/blob/main/anymail/backends/brevo.py';

export const CARRIER_RULES: Readonly<
  Record<'sendgrid' | 'postmark' | 'resend' | 'ses' | 'mailgun' | 'brevo', readonly CarrierRule[]>
> = {
  sendgrid: [
    {
      says: 'to.name, cc.name and bcc.name cannot include ; or , (202, and the email is dropped); in quotes they can',
      source: `${SENDGRID}/limitations, https://github.com/sendgrid/sendgrid-python/issues/291`,
      values: every(
        'personalizations.*.to.*.name',
        'personalizations.*.cc.*.name',
        'personalizations.*.bcc.*.name',
      ),
      holds: matches(new RegExp(`^(?:${QUOTED}|[^,;"<>]*)$`)),
    },
    {
      says: 'no address more than once',
      source: `${SENDGRID}/errors`,
      values: (request) => [every('personalizations.*.*.*.email')(request)],
      holds: (list) => new Set(list as string[]).size === (list as string[]).length,
    },
    {
      says: 'Unicode is not supported in addresses',
      source: `${SENDGRID}/limitations`,
      values: every('from.email', 'personalizations.*.*.*.email', 'reply_to.email', 'reply_to_list.*.email'),
      holds: matches(ASCII),
    },
    {
      says: 'the attachment type cannot contain ; or CRLF characters',
      source: 'https://github.com/sendgrid/sendgrid-go/issues/450',
      values: every('attachments.*.type'),
      holds: matches(MIME_TYPE),
    },
    {
      says: 'the text comes before the HTML, and no content is empty',
      source: `${SENDGRID}/mail-send`,
      values: (request) => [
        every('content.*.type')(request).join(),
        ...every('content.*.value', 'subject')(request),
      ],
      holds: (value) => value !== '' && value !== 'text/html,text/plain',
    },
    {
      says: 'up to 10 categories of 255 characters, each once',
      source: `${SENDGRID}/mail-send`,
      values: every('categories.*'),
      holds: shorterThan(256),
    },
    {
      says: 'custom arguments have less than 10,000 bytes',
      source: `${SENDGRID}/limitations`,
      values: (request) => [JSON.stringify(request['custom_args'])],
      holds: shorterThan(10_000),
    },
    {
      says: 'header values are text in ASCII',
      source: 'RFC 5322, 2.2',
      values: every('headers.*'),
      holds: matches(ASCII),
    },
  ],
  postmark: [
    {
      says: 'names with punctuation are quoted; escaped quotes are not understood',
      source: `${POSTMARK}, https://github.com/miguel250/PostmarkBundle/pull/22, https://github.com/ActiveCampaign/postmark-gem/issues/95`,
      values: every('From', 'To', 'Cc', 'Bcc', 'ReplyTo'),
      holds: matches(/^(?:(?:^|, )(?:(?:"[^"\\]*"|[^",;<>@\\]+) <[^<>,; ]+>|[^"<>,; ]+))+$/u),
    },
    {
      says: 'content-type must be a valid MIME type',
      source:
        'https://postmarkapp.com/updates/upcoming-changes-to-attachment-validation-action-may-be-required',
      values: every('Attachments.*.ContentType'),
      holds: matches(MIME_TYPE),
    },
    {
      says: 'content-id has ASCII characters only, and no spaces',
      source:
        'https://postmarkapp.com/updates/upcoming-changes-to-attachment-validation-action-may-be-required',
      values: every('Attachments.*.ContentID'),
      holds: matches(/^cid:[!-~]+$/),
    },
    { says: 'one tag', source: POSTMARK, values: every('Tag'), holds: shorterThan(1_001) },
    {
      says: 'header values are text in ASCII',
      source: 'RFC 5322, 2.2',
      values: every('Headers.*.Value'),
      holds: matches(ASCII),
    },
  ],
  resend: [
    {
      says: 'Your Name <sender@domain.com>; names in quotes are refused, encoded words are taken but for `from`',
      source: `${RESEND}, https://github.com/anymail/django-anymail/blob/main/anymail/backends/resend.py`,
      values: every('to.*', 'cc.*', 'bcc.*', 'reply_to.*'),
      holds: matches(/^(?:[^",;:<>@\\()[\]]+ <[^<>,; ]+>|[^"<>,; ]+)$/u),
    },
    {
      says: '`from` with encoded words is refused',
      source: 'https://github.com/anymail/django-anymail/blob/main/anymail/backends/resend.py',
      values: every('from'),
      holds: (value) => !/^=\?/.test(String(value)),
    },
    {
      says: 'tags have ASCII letters, digits, _ and -',
      source: RESEND,
      values: every('tags.*.name', 'tags.*.value'),
      holds: matches(TAG),
    },
    {
      says: 'header values are text in ASCII',
      source: 'RFC 5322, 2.2',
      values: every('headers.*'),
      holds: matches(ASCII),
    },
  ],
  ses: [
    {
      says: 'no line has more than 1,000 characters with its end',
      source: `${SES}/API_RawMessage.html`,
      values: (request) =>
        Buffer.from(String(every('Content.Raw.Data')(request)[0]), 'base64')
          .toString('latin1')
          .split('\r\n'),
      holds: shorterThan(999),
    },
    {
      says: 'addresses are in 7-bit ASCII',
      source: `${SES}/API_Destination.html`,
      values: every('FromEmailAddress', 'Destination.*.*'),
      holds: matches(/^[!-~]+$/),
    },
    {
      says: 'tags have ASCII letters, digits, _ and -',
      source: `${SES}/API_MessageTag.html`,
      values: every('EmailTags.*.Name', 'EmailTags.*.Value'),
      holds: matches(TAG),
    },
  ],
  mailgun: [
    {
      says: 'addresses have the syntax of RFC 5321',
      source: `${MAILGUN}/sending-messages/send-http`,
      values: every('to.*'),
      holds: matches(/^[!-~]+@[a-z0-9.-]+$/),
    },
    {
      says: 'up to 10 tags, of ASCII only, of up to 128 characters',
      source: `${MAILGUN}/tracking-messages/track-tagging`,
      values: every('tags.*'),
      holds: matches(/^[ -~]{1,128}$/),
    },
  ],
  brevo: [
    {
      says: 'a name with both punctuation and characters beyond ASCII is dropped; as encoded words it is kept',
      source: ANYMAIL_BREVO,
      values: every('sender.name', 'to.*.name', 'cc.*.name', 'bcc.*.name', 'replyTo.name'),
      holds: matches(ASCII),
    },
    {
      says: 'one reply-to address',
      source: BREVO,
      values: every('replyTo'),
      holds: (value) => typeof (value as { email?: unknown }).email === 'string',
    },
    {
      says: 'attachments have a name and base64',
      source: BREVO,
      values: every('attachment.*.name', 'attachment.*.content'),
      holds: (value) => value !== '',
    },
    {
      says: 'header values are text in ASCII',
      source: ANYMAIL_BREVO,
      values: every('headers.*'),
      holds: matches(ASCII),
    },
  ],
};
