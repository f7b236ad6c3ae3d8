import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { isIP } from 'node:net';
import { GraphQLBoolean, GraphQLInputObjectType, GraphQLList, GraphQLNonNull, GraphQLString } from 'graphql';
import type { DkimKey, SesAccount, SmtpAccount } from '../../email/carriers/account.js';
import type { StoredAccount } from '../../email/carriers/openAccounts.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import { isPrivateAddress } from '../../foundation/net/networkAddress.js';
import { badInput, requireValue } from '../derive/badInput.js';

const dkimInput = new GraphQLInputObjectType({
  name: 'email_dkimInput',
  fields: {
    domain: { type: new GraphQLNonNull(GraphQLString) },
    selector: { type: new GraphQLNonNull(GraphQLString) },
    private_key: {
      type: new GraphQLNonNull(GraphQLString),
      description: 'RSA private key in PEM format, 1024 to 4096 bits. Write-only.',
    },
  },
});

export const emailTransportInput: GraphQLInputObjectType = new GraphQLInputObjectType({
  name: 'email_transportInput',
  fields: () => ({
    kind: {
      type: GraphQLString,
      description: 'sendgrid (uses the key of set_email_apikey), smtp, ses, resend, postmark or mailgun.',
    },
    transports: {
      type: new GraphQLList(new GraphQLNonNull(emailTransportInput)),
      description:
        'Instead of kind: up to 5 carriers in order of preference, each kind once. The next one is tried only if the previous one has certainly not sent the email.',
    },
    apikey: {
      type: GraphQLString,
      description: 'Resend, Postmark and Mailgun only: the API key. Write-only.',
    },
    message_stream: { type: GraphQLString, description: 'Postmark only: the message stream.' },
    domain: { type: GraphQLString, description: 'Mailgun only: the sending domain.' },
    region: {
      type: GraphQLString,
      description: 'Mailgun: us (default) or eu. SES: the AWS region, such as eu-central-1.',
    },
    access_key_id: { type: GraphQLString, description: 'SES only: the AWS access key ID.' },
    secret_access_key: {
      type: GraphQLString,
      description: 'SES only: the AWS secret access key. Write-only.',
    },
    configuration_set: {
      type: GraphQLString,
      description: 'SES only: the configuration set that publishes delivery events.',
    },
    host: { type: GraphQLString, description: "SMTP only: the server's host." },
    port: { type: SCALARS.Int, description: 'SMTP only: 25, 465, 587 (default) or 2525.' },
    security: {
      type: GraphQLString,
      description:
        'SMTP only: tls (implicit TLS; default on port 465) or starttls (required; default on other ports).',
    },
    verify_certificate: {
      type: GraphQLBoolean,
      description: "SMTP only: whether to verify the server's TLS certificate (default true).",
    },
    username: { type: GraphQLString, description: 'SMTP only: the user name.' },
    password: { type: GraphQLString, description: 'SMTP only: the password. Write-only.' },
    max_connections: {
      type: SCALARS.Int,
      description: 'SMTP only: maximum concurrent connections per worker, 1 to 20 (default 5).',
    },
    dkim: { type: dkimInput, description: 'SMTP only: signs outgoing email with DKIM.' },
  }),
});

type TextField =
  | 'kind'
  | 'apikey'
  | 'message_stream'
  | 'domain'
  | 'region'
  | 'access_key_id'
  | 'secret_access_key'
  | 'configuration_set'
  | 'host'
  | 'security'
  | 'username'
  | 'password';

export interface AccountInput extends Readonly<Partial<Record<TextField, string | null>>> {
  readonly transports?: readonly AccountInput[] | null;
  readonly port?: number | null;
  readonly verify_certificate?: boolean | null;
  readonly max_connections?: number | null;
  readonly dkim?: { readonly domain: string; readonly selector: string; readonly private_key: string } | null;
}

const PORTS: readonly number[] = [25, 465, 587, 2525];
const MAX_ACCOUNTS = 5;
const MAX_CONNECTIONS = 20;
const DEFAULT_CONNECTIONS = 5;
/** RFC 8301, 3.2. Longer ones would hold a worker up: signing takes time with the third power of the length. */
const RSA_BITS = { min: 1024, max: 4096 };
/** 65537 has 17 bits. */
const MAX_EXPONENT = 2n ** 32n;
const MAX_PEM_CHARACTERS = 10_000;
const MAX_CHARACTERS = 1_000;
const HOST = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?$/i;

const READERS: {
  readonly [K in StoredAccount['kind']]: (
    given: AccountInput,
    at: string,
    allowPrivate: boolean,
  ) => StoredAccount;
} = {
  sendgrid: () => ({ kind: 'sendgrid' }),
  smtp: readSmtp,
  ses: readSes,
  resend: (given, at) => ({ kind: 'resend', apikey: readKey(given, at) }),
  postmark: (given, at) => ({
    kind: 'postmark',
    apikey: readKey(given, at),
    ...(given.message_stream == null
      ? {}
      : { messageStream: requireText(given.message_stream, `${at}message_stream`) }),
  }),
  mailgun: (given, at) => ({
    kind: 'mailgun',
    apikey: readKey(given, at),
    domain: readDomain(requireValue(given.domain, `${at}domain`), `${at}domain`),
    region: readRegion(given.region ?? 'us', `${at}region`),
  }),
};

/** The accounts in order of preference. Throws AppError BAD_USER_INPUT. @param allowPrivate whether servers may be in private networks */
export function parseAccounts(input: AccountInput, allowPrivate: boolean): readonly StoredAccount[] {
  const { transports } = input;
  if (!transports) return [parseAccount(input, '', allowPrivate)];
  if (input.kind != null) throw badInput('kind', 'Pass either kind or transports, not both.');
  if (transports.length === 0 || transports.length > MAX_ACCOUNTS) {
    throw badInput('transports', `transports must hold 1 to ${MAX_ACCOUNTS} carriers.`);
  }
  const kinds = transports.map(({ kind }) => kind);
  if (new Set(kinds).size < kinds.length)
    throw badInput('transports', 'transports must not hold a kind twice.');
  return transports.map((given, index) => parseAccount(given, `transports[${index}].`, allowPrivate));
}

function parseAccount(given: AccountInput, at: string, allowPrivate: boolean): StoredAccount {
  const kind = requireValue(given.kind, `${at}kind`);
  if (given.transports) throw badInput(`${at}transports`, 'transports must not be nested.');
  if (!Object.hasOwn(READERS, kind)) {
    throw badInput(`${at}kind`, `${at}kind must be one of ${Object.keys(READERS).join(', ')}.`);
  }
  return READERS[kind as StoredAccount['kind']](given, at, allowPrivate);
}

function readSes(given: AccountInput, at: string): SesAccount {
  const region = requireValue(given.region, `${at}region`);
  // It becomes part of a host name.
  if (!/^[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}$/.test(region)) {
    throw badInput(`${at}region`, `${at}region must be a region of AWS, such as eu-central-1.`);
  }
  return {
    kind: 'ses',
    region,
    accessKeyId: requireKey(given.access_key_id, `${at}access_key_id`),
    secretAccessKey: requireKey(given.secret_access_key, `${at}secret_access_key`),
    ...(given.configuration_set == null
      ? {}
      : { configurationSet: requireText(given.configuration_set, `${at}configuration_set`) }),
  };
}

function readKey(given: AccountInput, at: string): string {
  return requireKey(given.apikey, `${at}apikey`);
}

/** The key is sent in a header; a character that headers don't allow is a copy-and-paste mistake. */
function requireKey(value: string | null | undefined, field: string): string {
  const key = requireValue(value, field);
  if (/^[\x21-\x7e]{1,1000}$/.test(key)) return key;
  throw badInput(field, `${field} must be printable characters without spaces.`);
}

/** The domain becomes part of a path. */
function readDomain(domain: string, field: string): string {
  if (HOST.test(domain)) return domain;
  throw badInput(field, `${field} must be a domain.`);
}

function readRegion(region: string, field: string): 'us' | 'eu' {
  if (region === 'us' || region === 'eu') return region;
  throw badInput(field, `${field} must be us or eu.`);
}

function readSmtp(given: AccountInput, at: string, allowPrivate: boolean): SmtpAccount {
  const host = readHost(requireValue(given.host, `${at}host`), `${at}host`, allowPrivate);
  const port = given.port ?? 587;
  if (allowPrivate ? port < 1 || port > 65_535 : !PORTS.includes(port)) {
    throw badInput(`${at}port`, `${at}port must be one of ${PORTS.join(', ')}.`);
  }
  const security = given.security ?? (port === 465 ? 'tls' : 'starttls');
  if (security !== 'tls' && security !== 'starttls' && !(security === 'none' && allowPrivate)) {
    throw badInput(`${at}security`, `${at}security must be tls or starttls.`);
  }
  const maxConnections = given.max_connections ?? DEFAULT_CONNECTIONS;
  if (maxConnections < 1 || maxConnections > MAX_CONNECTIONS) {
    throw badInput(`${at}max_connections`, `${at}max_connections must be 1 to ${MAX_CONNECTIONS}.`);
  }
  if ((given.username == null) !== (given.password == null)) {
    throw badInput(`${at}username`, `${at}username and ${at}password must be given together.`);
  }
  return {
    kind: 'smtp',
    host,
    port,
    security,
    maxConnections,
    verifyCertificate: given.verify_certificate ?? true,
    ...(given.username == null ? {} : { username: requireText(given.username, `${at}username`) }),
    ...(given.password == null ? {} : { password: requireText(given.password, `${at}password`) }),
    ...(given.dkim == null ? {} : { dkim: readDkim(given.dkim, `${at}dkim.`) }),
  };
}

/** What a name resolves to is checked when connecting. */
function readHost(host: string, field: string, allowPrivate: boolean): string {
  if (isIP(host) === 0 && !HOST.test(host)) throw badInput(field, `${field} must be a name or an address.`);
  const isLocal = isIP(host) === 0 ? !host.includes('.') : isPrivateAddress(host);
  if (isLocal && !allowPrivate) {
    throw badInput(field, `${field} leads into the private network of this installation.`);
  }
  return host;
}

function readDkim(given: NonNullable<AccountInput['dkim']>, at: string): DkimKey {
  const { domain, selector, private_key: privateKey } = given;
  for (const [name, value] of Object.entries({ domain, selector })) {
    if (!HOST.test(value)) throw badInput(`${at}${name}`, `${at}${name} must be a part of a domain name.`);
  }
  try {
    if (privateKey.length > MAX_PEM_CHARACTERS || !isUsableKey(privateKey)) throw new Error('no usable key');
  } catch {
    throw badInput(
      `${at}private_key`,
      `${at}private_key must be an RSA key of ${RSA_BITS.min} to ${RSA_BITS.max} bits, in PEM.`,
    );
  }
  return { domain, selector, privateKey };
}

/** Throws what OpenSSL throws. */
function isUsableKey(pem: string): boolean {
  const key = createPrivateKey(pem);
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== 'rsa' || publicExponent > MAX_EXPONENT) return false;
  if (modulusLength < RSA_BITS.min || modulusLength > RSA_BITS.max) return false;
  // Its numbers may not belong together.
  const sample = Buffer.from('sample');
  return verify('sha256', sample, createPublicKey(key), sign('sha256', sample, key));
}

/** Throws AppError BAD_USER_INPUT for text that can't be part of a header or a command. */
function requireText(value: string, field: string): string {
  if (value !== '' && value.length <= MAX_CHARACTERS && !/\p{Cc}/u.test(value)) return value;
  throw badInput(
    field,
    `${field} must be 1 to ${MAX_CHARACTERS} characters, none of them a control character.`,
  );
}
