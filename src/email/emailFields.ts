import type { TemplateRequest } from 'rowpost-jinja2';
import type { EmailType } from '../db/email/emailTypes.js';
import { ownValue } from '../foundation/ownValue.js';

/** A text of an email type that may be a template, with its name for errors. */
export type EmailField = Omit<TemplateRequest, 'syntax'>;

export interface EmailFields {
  readonly template: EmailField;
  readonly subject: EmailField;
  readonly sender: EmailField;
  readonly recipients: readonly EmailField[];
  readonly cc: readonly EmailField[];
  readonly bcc: readonly EmailField[];
  readonly replyTo: EmailField | undefined;
  /** Undefined if the text part is derived from the HTML, or omitted. */
  readonly text: EmailField | undefined;
  readonly preheader: EmailField | undefined;
  /** The language, which selects a variant. */
  readonly locale: EmailField | undefined;
  /** Named `headers.<name>`. */
  readonly headers: readonly EmailField[];
  readonly categories: readonly EmailField[];
  /** One for each query; undefined for a query without a filter. */
  readonly filters: readonly (EmailField | undefined)[];
}

const cache = new WeakMap<EmailType, EmailFields>();

/** Every templated field of a type, with the output mode that keeps values from altering their surroundings. */
export function fieldsOf(type: EmailType): EmailFields {
  const fields = cache.get(type) ?? readFields(type);
  cache.set(type, fields);
  return fields;
}

function readFields(type: EmailType): EmailFields {
  return {
    template: {
      name: 'template',
      source: type.template,
      mode: 'html',
      withPlainText: type.text == null,
    },
    subject: { name: 'subject', source: type.subject, mode: 'text' },
    sender: addressField('sender', type.sender),
    recipients: addressFields('recipients', type.recipients),
    cc: addressFields('options.cc', type.options.cc),
    bcc: addressFields('options.bcc', type.options.bcc),
    replyTo: type.reply_to == null ? undefined : addressField('reply_to', type.reply_to),
    text: type.text === NO_TEXT ? undefined : textField('text', type.text),
    preheader: textField('preheader', type.preheader),
    locale: textField('locale', type.locale),
    headers: Object.entries(type.headers ?? {}).map(([name, source]) => ({
      name: `headers.${name}`,
      source,
      mode: 'text',
    })),
    categories: (type.categories ?? []).map((source, index) => ({
      name: `categories[${index}]`,
      source,
      mode: 'text',
    })),
    filters: type.queries.map(({ filter }, index) =>
      filter == null ? undefined : { name: `queries[${index}].filter`, source: filter, mode: 'filter' },
    ),
  };
}

/** As the `text` of an email type: no text part. */
const NO_TEXT = 'none';

function textField(name: string, source: string | null | undefined): EmailField | undefined {
  return source == null ? undefined : { name, source, mode: 'text' };
}

function addressFields(
  name: string,
  given: readonly string[] | string | null | undefined,
): readonly EmailField[] {
  if (given == null) return [];
  if (typeof given === 'string') return [addressField(name, given)];
  return given.map((source, index) => addressField(`${name}[${index}]`, source));
}

/** Whether a text contains template syntax of either kind. */
export function isTemplated(source: string): boolean {
  return /\{[{%#]/.test(source);
}

/** What ends a computed part of a template, by the character after its first brace. */
const ENDS: Readonly<Record<string, string>> = { '{': '}}', '%': '%}', '#': '#}' };

/**
 * A template without its computed parts. An end that is missing is looked for once: a source of nothing but beginnings
 * would take a regular expression minutes.
 */
export function literalText(source: string, instead = ''): string {
  const missing = new Set<string>();
  let text = '';
  let from = 0;
  for (let at = source.indexOf('{'); at >= 0; at = source.indexOf('{', Math.max(at + 1, from))) {
    const end = ownValue(ENDS, source.charAt(at + 1));
    if (end === undefined || missing.has(end)) continue;
    const endsAt = source.indexOf(end, at + 2);
    if (endsAt < 0) {
      missing.add(end);
      continue;
    }
    text += source.slice(from, at) + instead;
    from = endsAt + end.length;
  }
  return text + source.slice(from);
}

/** No address begins with a bracket, so a text that does renders to a JSON list of addresses. */
function addressField(name: string, source: string): EmailField {
  const isList = name !== 'sender' && source.trimStart().startsWith('[');
  return { name, source, mode: isList ? 'addressList' : 'address' };
}
