import { AppError } from '../../foundation/errors.js';
import { numberOf, textOf, type Values } from './formValues.js';

/** A field of `set_email_transport`'s input. */
interface CarrierField {
  readonly name: string;
  readonly label: string;
  readonly kind: 'text' | 'number' | 'secret';
  readonly isOptional?: true;
  readonly hint?: string;
  /** The initial value. */
  readonly value?: string;
}

interface CarrierForm {
  /** As `set_email_transport` names it. */
  readonly kind: string;
  readonly name: string;
  readonly fields: readonly CarrierField[];
}

const MAX_CHARACTERS = 1_000;
const REGION = { name: 'region', label: 'Region', kind: 'text' } as const;

const FORMS: readonly CarrierForm[] = [
  { kind: 'sendgrid', name: 'SendGrid', fields: [{ name: 'apikey', label: 'API key', kind: 'secret' }] },
  {
    kind: 'smtp',
    name: 'SMTP server',
    fields: [
      { name: 'host', label: 'Host', kind: 'text' },
      {
        name: 'port',
        label: 'Port',
        kind: 'number',
        value: '587',
      },
      {
        name: 'security',
        label: 'Security',
        kind: 'text',
        isOptional: true,
        hint: 'tls (the default on port 465), starttls (on others), or none where the operator allows it.',
      },
      { name: 'username', label: 'User', kind: 'text', isOptional: true },
      { name: 'password', label: 'Password', kind: 'secret', isOptional: true },
    ],
  },
  {
    kind: 'ses',
    name: 'Amazon SES',
    fields: [
      { name: 'access_key_id', label: 'Access key ID', kind: 'text' },
      { name: 'secret_access_key', label: 'Secret access key', kind: 'secret' },
      { ...REGION, hint: 'Such as eu-central-1.' },
      { name: 'configuration_set', label: 'Configuration set', kind: 'text', isOptional: true },
    ],
  },
  { kind: 'resend', name: 'Resend', fields: [{ name: 'apikey', label: 'API key', kind: 'secret' }] },
  {
    kind: 'postmark',
    name: 'Postmark',
    fields: [
      { name: 'apikey', label: 'Server token', kind: 'secret' },
      { name: 'message_stream', label: 'Message stream', kind: 'text', isOptional: true },
    ],
  },
  {
    kind: 'mailgun',
    name: 'Mailgun',
    fields: [
      { name: 'apikey', label: 'API key', kind: 'secret' },
      { name: 'domain', label: 'Sending domain', kind: 'text' },
      { ...REGION, value: 'us', hint: 'us or eu.' },
    ],
  },
];

/** Fields with secrets. */
export const SECRET_FIELDS: readonly string[] = FORMS.flatMap(({ fields }) =>
  fields.filter(({ kind }) => kind === 'secret').map(({ name }) => name),
);

/** The input of `set_email_transport`. Throws AppError BAD_USER_INPUT for an unknown carrier. */
export function readCarrier(values: Values): Readonly<Record<string, string | number>> {
  const kind = textOf(values, 'kind');
  const form = FORMS.find((one) => one.kind === kind);
  if (!form) throw new AppError('BAD_USER_INPUT', 'There is no such carrier.');
  const given = form.fields.flatMap((field): [string, string | number][] => {
    const text = textOf(values, field.name, MAX_CHARACTERS);
    if (text === '') return [];
    return [[field.name, field.kind === 'number' ? numberOf(values, field.name) : text]];
  });
  return { kind, ...Object.fromEntries(given) };
}

/** The tenant's carriers, in order. */
export interface SendingAccounts {
  readonly transports: readonly { readonly kind: string }[];
}

/** As people know it. */
export function carrierName(kind: string): string {
  return FORMS.find((form) => form.kind === kind)?.name ?? kind;
}

/** The carriers with their names. */
export function withNames(account: SendingAccounts | null) {
  return (
    account && {
      ...account,
      transports: account.transports.map((each) => ({
        ...each,
        name: carrierName(each.kind),
      })),
    }
  );
}

/** The forms for the view. @param values of a rejected form, which are shown again except for secrets */
export function showCarriers(values: Values | undefined) {
  const refused = values && textOf(values, 'kind');
  return FORMS.map((form) => ({
    ...form,
    isOpen: form.kind === refused,
    fields: form.fields.map((field) => ({
      ...field,
      isSecret: field.kind === 'secret',
      isNumber: field.kind === 'number',
      value:
        form.kind === refused && values && field.kind !== 'secret'
          ? textOf(values, field.name, MAX_CHARACTERS)
          : (field.value ?? ''),
    })),
  }));
}
