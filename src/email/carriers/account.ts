import { ownValue } from '../../foundation/ownValue.js';

/** A tenant's account at a carrier, decrypted: everything a carrier needs besides the email. Its values are those of the carrier's fields. */
export interface Account extends Values {
  readonly kind: string;
}

/** A value of an account: a field of `set_email_transport`'s input, and of the console's form. */
export interface AccountField<T = unknown> {
  readonly type: 'text' | 'number' | 'flag' | 'parts';
  /** In the console. A field without one is set by the API only. */
  readonly label?: string;
  /** For people who use the console. */
  readonly hint?: string;
  /** For people who use the API; follows the names of the carriers. */
  readonly doc: string;
  /** Never shown again, and removed from whatever the carrier responds. */
  readonly isSecret?: true;
  readonly isOptional?: true;
  /** The value if none is given. */
  fallback?(given: Values): T;
  /** @returns why it can't be used, as the rest of a sentence that begins with its name */
  problemOf?(value: T, given: Values, options: FieldOptions): string | undefined;
  readonly parts?: AccountFields;
}

/** Those of an account, by their names in it. */
export type AccountFields = Readonly<Record<string, AccountField>>;
type Values = Readonly<Record<string, unknown>>;

export interface FieldOptions {
  /** Whether servers may be in private networks. */
  readonly allowsPrivateNetwork: boolean;
}

type ValueOf<F> = F extends AccountField<infer T> ? T : never;
type OptionalName<F> = { [N in keyof F]: F[N] extends { readonly isOptional: true } ? N : never }[keyof F];
type ValuesOf<F> = { readonly [N in Exclude<keyof F, OptionalName<F>>]: ValueOf<F[N]> } & {
  readonly [N in OptionalName<F>]?: ValueOf<F[N]>;
};

/** The account that fields make. */
export type AccountOf<K extends string, F extends AccountFields> = { readonly kind: K } & ValuesOf<F>;

const MAX_CHARACTERS = 1_000;
const HOST = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?$/i;

/** Text that may be part of a header or a command. */
export const textField = (label: string, doc: string) =>
  ({ type: 'text', label, doc, problemOf: problemOfText }) satisfies AccountField<string>;

/** A key is sent in a header; a character that headers don't allow is a copy-and-paste mistake. */
export const keyField = (label = 'API key', doc = 'the API key') =>
  ({ type: 'text', label, doc, isSecret: true, problemOf: problemOfKey }) satisfies AccountField<string>;

/** Part of a path. */
export const domainField = (label: string, doc: string) =>
  ({
    type: 'text',
    label,
    doc,
    problemOf: (value: string) => (HOST.test(value) ? undefined : 'must be a domain'),
  }) satisfies AccountField<string>;

export const choiceField = <T extends string>(label: string, doc: string, choices: readonly [T, ...T[]]) =>
  ({
    type: 'text',
    label,
    doc,
    hint: `${choices.join(' or ')}; ${choices[0]} if empty.`,
    fallback: () => choices[0],
    problemOf: (value: T) => (choices.includes(value) ? undefined : `must be ${choices.join(' or ')}`),
  }) satisfies AccountField<T>;

export const optional = <F extends AccountField>(field: F) => ({ ...field, isOptional: true }) as const;

/** Whether a name is one of DNS. */
export const isHostName = (name: string): boolean => HOST.test(name);

export function problemOfText(value: string): string | undefined {
  if (value.length <= MAX_CHARACTERS && !/\p{Cc}/u.test(value)) return undefined;
  return `must be 1 to ${MAX_CHARACTERS} characters, none of them a control character`;
}

export function problemOfKey(value: string): string | undefined {
  return /^[\x21-\x7e]{1,1000}$/.test(value)
    ? undefined
    : 'must be printable characters without spaces, 1000 at most';
}

/** Values that must not appear in any message. */
export function secretsIn(fields: AccountFields, values: Values): readonly string[] {
  return Object.entries(fields).flatMap(([name, { isSecret, parts }]): readonly string[] => {
    const value = ownValue(values, name);
    if (value == null || value === '') return [];
    if (parts) return secretsIn(parts, value as Values);
    return isSecret && typeof value === 'string' ? [value] : [];
  });
}
