import type { EmailType } from '../db/delivery/emailTypes.js';
import type { TemplateRequest } from '../templates/index.js';

/** A text of an email type that may be a template, under the name that errors show. */
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

const known = new WeakMap<EmailType, EmailFields>();

/** Every templated field of a type, and how values are kept from changing what surrounds them there. */
export function fieldsOf(type: EmailType): EmailFields {
  const fields = known.get(type) ?? readFields(type);
  known.set(type, fields);
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

/** What a template computes, as against what its author wrote out. */
const TAGS = /\{\{[^]*?\}\}|\{%[^]*?%\}|\{#[^]*?#\}/g;

/**
 * No address begins with a bracket: a text that does renders to a JSON list of addresses. Where the author wrote angle
 * brackets or a list, the author separates the addresses; a value like `{{ addresses }}` may be several else.
 */
function addressField(name: string, source: string): EmailField {
  if (name !== 'sender' && source.trimStart().startsWith('[')) return { name, source, mode: 'addressList' };
  return { name, source, mode: source.replace(TAGS, '').includes('<') ? 'address' : 'text' };
}
