import {
  GraphQLBoolean,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
  type GraphQLFieldConfigMap,
  type GraphQLInputFieldConfig,
  type GraphQLInputType,
  type GraphQLScalarType,
} from 'graphql';
import type { Account, AccountField, AccountFields } from '../../email/carriers/account.js';
import { CARRIERS, findCarrier } from '../../email/carriers/allCarriers.js';
import { ownValue } from '../../foundation/ownValue.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireValue } from '../derive/badInput.js';

const MAX_ACCOUNTS = 5;

const SCALAR_TYPES: Readonly<Record<string, GraphQLScalarType>> = {
  text: GraphQLString,
  number: SCALARS.Int,
  flag: GraphQLBoolean,
};
/** Carriers whose whole account is passed; SendGrid's key has a mutation of its own. */
const WITH_FIELDS = CARRIERS.filter(({ kind }) => kind !== 'sendgrid');

/** As the API writes the name of a value of an account: `apiKey` as `api_key`. */
export const toApiName = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const emailTransportInput: GraphQLInputObjectType = new GraphQLInputObjectType({
  name: 'email_transportInput',
  fields: () => ({
    kind: {
      type: GraphQLString,
      description: `${CARRIERS.map(({ kind }) => kind).join(', ')}. sendgrid uses the key of set_email_apikey.`,
    },
    transports: {
      type: new GraphQLList(new GraphQLNonNull(emailTransportInput)),
      description: `Instead of kind: up to ${MAX_ACCOUNTS} carriers in order of preference, each kind once. The next one is tried only if the previous one has certainly not sent the email.`,
    },
    ...inputFields(),
  }),
});

/** Every field that a carrier has, with what it is to each of them. */
function inputFields(): Record<string, GraphQLInputFieldConfig> {
  const all = WITH_FIELDS.flatMap(({ title, fields }) =>
    Object.entries(fields).map(([name, field]) => ({ title, name, field })),
  );
  return Object.fromEntries(
    all.map(({ name, field }) => {
      const uses = all.filter((use) => use.name === name);
      const docs = [...new Set(uses.map((use) => use.field.doc))].map((doc) => {
        const titles = uses.filter((use) => use.field.doc === doc).map(({ title }) => title);
        return `${titles.join(', ')}: ${doc}.`;
      });
      const description = [...docs, ...(field.isSecret ? ['Write-only.'] : [])].join(' ');
      return [toApiName(name), { type: inputType(name, field), description }];
    }),
  );
}

function inputType(name: string, { type, parts = {} }: AccountField): GraphQLInputType {
  const scalar = ownValue(SCALAR_TYPES, type);
  if (scalar) return scalar;
  return new GraphQLInputObjectType({
    name: `email_${toApiName(name)}Input`,
    fields: Object.fromEntries(
      Object.entries(parts).map(([partName, part]) => [
        toApiName(partName),
        { type: new GraphQLNonNull(inputType(partName, part)), description: sentence(part) },
      ]),
    ),
  });
}

function sentence({ doc, isSecret }: AccountField): string {
  return `${doc.charAt(0).toUpperCase()}${doc.slice(1)}.${isSecret ? ' Write-only.' : ''}`;
}

/** A value of an account that is no secret. */
interface ShownValue {
  readonly name: string;
  readonly type: AccountField['type'];
  readonly read: (account: Account) => unknown;
}

/** What is shown of an account: every value but secrets. */
const SHOWN: readonly ShownValue[] = CARRIERS.flatMap(({ fields }) => shownOf(fields, []));

function shownOf(fields: AccountFields, inside: readonly string[]): readonly ShownValue[] {
  return Object.entries(fields).flatMap(([name, { type, parts, isSecret }]): readonly ShownValue[] => {
    const path = [...inside, name];
    if (isSecret) return [];
    if (parts) return shownOf(parts, path);
    const read = (account: Account): unknown =>
      path.reduce<unknown>((value, key) => value && ownValue(value, key), account) ?? null;
    return [{ name: path.map(toApiName).join('_'), type, read }];
  });
}

export function shownFields(): GraphQLFieldConfigMap<Account, ControlContext> {
  return Object.fromEntries(
    SHOWN.map(({ name, type, read }) => [
      name,
      { type: ownValue(SCALAR_TYPES, type) ?? GraphQLString, resolve: read },
    ]),
  );
}

export function shownValues(account: Account): object {
  return Object.fromEntries([
    ['kind', account.kind],
    ...SHOWN.map(({ name, read }) => [name, read(account)] as const).filter(([, value]) => value !== null),
  ]);
}

type Given = Readonly<Record<string, unknown>>;
export interface AccountInput extends Given {
  readonly kind?: string | null;
  readonly transports?: readonly AccountInput[] | null;
}

/** The accounts in order of preference. Throws AppError BAD_USER_INPUT. @param allowPrivate whether servers may be in private networks */
export function parseAccounts(input: AccountInput, allowPrivate: boolean): readonly Account[] {
  const { transports } = input;
  if (!transports) return [parseAccount(input, '', allowPrivate)];
  if (input.kind != null) throw badInput('kind', 'Pass either kind or transports, not both.');
  if (transports.length === 0 || transports.length > MAX_ACCOUNTS) {
    throw badInput('transports', `transports must contain 1 to ${MAX_ACCOUNTS} carriers.`);
  }
  const kinds = transports.map(({ kind }) => kind);
  if (new Set(kinds).size < kinds.length)
    throw badInput('transports', 'transports must not contain a kind twice.');
  return transports.map((given, index) => parseAccount(given, `transports[${index}].`, allowPrivate));
}

function parseAccount(given: AccountInput, at: string, allowPrivate: boolean): Account {
  const kind = requireValue(given.kind, `${at}kind`);
  if (given.transports) throw badInput(`${at}transports`, 'transports must not be nested.');
  if (!findCarrier(kind)) {
    throw badInput(
      `${at}kind`,
      `${at}kind must be one of ${CARRIERS.map((carrier) => carrier.kind).join(', ')}.`,
    );
  }
  const fields = WITH_FIELDS.find((carrier) => carrier.kind === kind)?.fields ?? {};
  return { kind, ...parseFields(fields, given, at, allowPrivate) };
}

function parseFields(fields: AccountFields, given: Given, at: string, allowPrivate: boolean): Given {
  let values: Given = {};
  for (const [name, field] of Object.entries(fields)) {
    const apiName = toApiName(name);
    const value = ownValue(given, apiName) ?? field.fallback?.(values);
    if (value == null && field.isOptional) continue;
    const required = requireValue(value, `${at}${apiName}`);
    const parsed = field.parts
      ? parseFields(field.parts, required as Given, `${at}${apiName}.`, allowPrivate)
      : required;
    values = { ...values, [name]: parsed };
  }
  for (const [name, field] of Object.entries(fields)) {
    const value = ownValue(values, name);
    if (value === undefined) continue;
    const problem = field.problemOf?.(value, values, { allowsPrivateNetwork: allowPrivate });
    const path = `${at}${toApiName(name)}`;
    if (problem !== undefined) throw badInput(path, `${path} ${problem}.`);
  }
  return values;
}
