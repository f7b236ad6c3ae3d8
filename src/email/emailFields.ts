import type { EmailType } from '../db/delivery/emailTypes.js';
import type { TemplateRequest } from '../templates/index.js';

/** A text of an email type that may be a template, with its name in errors. */
export type EmailField = Omit<TemplateRequest, 'syntax'>;

export interface EmailFields {
  readonly template: EmailField;
  readonly subject: EmailField;
  readonly sender: EmailField;
  readonly recipients: readonly EmailField[];
  readonly cc: readonly EmailField[];
  readonly bcc: readonly EmailField[];
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
    template: { name: 'template', source: type.template, mode: 'html' },
    subject: { name: 'subject', source: type.subject, mode: 'text' },
    sender: addressField('sender', type.sender),
    recipients: addressFields('recipients', type.recipients),
    cc: addressFields('options.cc', type.options.cc),
    bcc: addressFields('options.bcc', type.options.bcc),
    filters: type.queries.map(({ filter }, index) =>
      filter == null ? undefined : { name: `queries[${index}].filter`, source: filter, mode: 'filter' },
    ),
  };
}

function addressFields(
  name: string,
  given: readonly string[] | string | null | undefined,
): readonly EmailField[] {
  if (given == null) return [];
  if (typeof given === 'string') return [addressField(name, given)];
  return given.map((source, index) => addressField(`${name}[${index}]`, source));
}

/** The computed parts of a template, as opposed to its literal text. */
const TAGS = /\{\{[^]*?\}\}|\{%[^]*?%\}|\{#[^]*?#\}/g;

/**
 * No address begins with a bracket: a text that does renders to a JSON list of addresses. Where the author wrote angle
 * brackets or a list, only the author separates addresses; otherwise a value like `{{ addresses }}` may hold several.
 */
function addressField(name: string, source: string): EmailField {
  if (name !== 'sender' && source.trimStart().startsWith('[')) return { name, source, mode: 'addressList' };
  return { name, source, mode: source.replace(TAGS, '').includes('<') ? 'address' : 'text' };
}
