import { toApiName } from '../../control/email/accountInput.js';
import { CARRIERS, findCarrier } from '../../email/carriers/allCarriers.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { numberOf, textOf, type Values } from './formValues.js';

const MAX_CHARACTERS = 1_000;

/** What a form of the page has of a carrier's account. Names are those of `set_email_transport`'s input. */
const FORMS = CARRIERS.map(({ kind, title, fields }) => ({
  kind,
  name: title,
  fields: Object.entries(fields)
    .filter(([, { label }]) => label !== undefined)
    .map(([name, field]) => ({
      name: toApiName(name),
      label: field.label,
      hint: field.hint,
      isSecret: field.isSecret ?? false,
      isNumber: field.type === 'number',
      isFlag: field.type === 'flag',
      isOptional: field.isOptional ?? field.fallback !== undefined,
    })),
}));

/** Fields with secrets. */
export const SECRET_FIELDS: readonly string[] = FORMS.flatMap(({ fields }) =>
  fields.filter(({ isSecret }) => isSecret).map(({ name }) => name),
);

/** The input of `set_email_transport`. Throws AppError BAD_USER_INPUT for an unknown carrier. */
export function readCarrier(values: Values): Readonly<Record<string, string | number | boolean>> {
  const kind = textOf(values, 'kind');
  const form = FORMS.find((one) => one.kind === kind);
  if (!form) throw new AppError('BAD_USER_INPUT', 'There is no such carrier.');
  const given = form.fields.flatMap((field): [string, string | number | boolean][] => {
    const text = textOf(values, field.name, MAX_CHARACTERS);
    if (text === '') return [];
    if (field.isFlag) return [[field.name, true]];
    return [[field.name, field.isNumber ? numberOf(values, field.name) : text]];
  });
  return { kind, ...Object.fromEntries(given) };
}

/** The fields of `email_transport` that the page shows: those of its forms, except secrets. */
export const SHOWN_FIELDS: readonly string[] = [
  ...new Set(
    FORMS.flatMap(({ fields }) => fields.filter(({ isSecret }) => !isSecret).map(({ name }) => name)),
  ),
];

/** The tenant's carriers, in order. */
export interface SendingAccounts {
  readonly transports: readonly (Readonly<Record<string, unknown>> & { readonly kind: string })[];
}

/** The carriers with their names and values. */
export function withNames(account: SendingAccounts | null) {
  return (
    account && {
      ...account,
      transports: account.transports.map((each) => ({
        name: findCarrier(each.kind)?.title ?? each.kind,
        values: SHOWN_FIELDS.map((name) => shownValue(name, ownValue(each, name))).filter(
          (value) => value != null,
        ),
      })),
    }
  );
}

/** Flags are shown by their label, if they are set. */
function shownValue(name: string, value: unknown): unknown {
  if (typeof value !== 'boolean') return value;
  return value
    ? FORMS.flatMap(({ fields }) => fields).find((field) => field.name === name)?.label
    : undefined;
}

/** The forms for the view. @param values of a rejected form, which are shown again except for secrets */
export function showCarriers(values: Values | undefined) {
  const refused = values && textOf(values, 'kind');
  return FORMS.map((form) => ({
    ...form,
    isOpen: form.kind === refused,
    fields: form.fields.map((field) => ({
      ...field,
      value:
        form.kind === refused && values && !field.isSecret ? textOf(values, field.name, MAX_CHARACTERS) : '',
    })),
  }));
}
