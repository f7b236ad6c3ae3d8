import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { isIP } from 'node:net';
import { isPrivateAddress } from '../../../foundation/net/networkAddress.js';
import type { DkimKey } from '../../message/mime.js';
import {
  isHostName,
  keyField,
  optional,
  problemOfText,
  secretsIn,
  textField,
  type AccountField,
  type AccountOf,
} from '../account.js';

const PORTS: readonly number[] = [25, 465, 587, 2525];
const MAX_CONNECTIONS = 20;
const DEFAULT_CONNECTIONS = 5;
/** RFC 8301, 3.2. Longer ones would hold a worker up: signing takes time with the third power of the length. */
const RSA_BITS = { min: 1024, max: 4096 };
/** 65537 has 17 bits. */
const MAX_EXPONENT = 2n ** 32n;
const MAX_PEM_CHARACTERS = 10_000;

/** `tls`: from the first byte. `starttls`: required before anything else. `none`: in clear text. */
type Security = 'tls' | 'starttls' | 'none';

const nameField = (doc: string) =>
  ({
    type: 'text',
    doc,
    problemOf: (value: string) => (isHostName(value) ? undefined : 'must be a part of a domain name'),
  }) satisfies AccountField<string>;

export const FIELDS = {
  host: {
    ...textField('Host', "the server's host"),
    // What a name resolves to is checked when connecting.
    problemOf(host: string, _given, { allowsPrivateNetwork }) {
      if (isIP(host) === 0 && !isHostName(host)) return 'must be a name or an address';
      const isLocal = isIP(host) === 0 ? !host.includes('.') : isPrivateAddress(host);
      return isLocal && !allowsPrivateNetwork
        ? 'leads into the private network of this installation'
        : undefined;
    },
  } satisfies AccountField<string>,
  port: {
    type: 'number',
    label: 'Port',
    hint: '587 if empty.',
    doc: '25, 465, 587 (default) or 2525, or any where the operator allows it',
    fallback: () => 587,
    problemOf(port: number, _given, { allowsPrivateNetwork }) {
      const isAllowed = allowsPrivateNetwork ? port >= 1 && port <= 65_535 : PORTS.includes(port);
      return isAllowed ? undefined : `must be one of ${PORTS.join(', ')}`;
    },
  } satisfies AccountField<number>,
  security: {
    ...textField(
      'Security',
      'tls (implicit TLS; default on port 465), starttls (required; default on other ports), or none where the operator allows it',
    ),
    hint: 'tls (the default on port 465), starttls (on others), or none where the operator allows it.',
    fallback: ({ port }): Security => (port === 465 ? 'tls' : 'starttls'),
    problemOf(security: string, _given, { allowsPrivateNetwork }) {
      if (security === 'tls' || security === 'starttls') return undefined;
      return allowsPrivateNetwork && security === 'none' ? undefined : 'must be tls or starttls';
    },
  } satisfies AccountField<Security>,
  verifyCertificate: {
    type: 'flag',
    doc: "whether to verify the server's TLS certificate (default true)",
    fallback: (): boolean => true,
  } satisfies AccountField<boolean>,
  // Without one, there is no authentication.
  username: optional({
    ...textField('User', 'the user name'),
    problemOf: (value: string, { password }) =>
      password === undefined ? 'must be given together with password' : problemOfText(value),
  } satisfies AccountField<string>),
  password: optional({
    ...keyField('Password', 'the password'),
    problemOf: (value: string, { username }) =>
      username === undefined ? 'must be given together with username' : problemOfText(value),
  } satisfies AccountField<string>),
  maxConnections: {
    type: 'number',
    doc: `maximum concurrent connections per worker, 1 to ${MAX_CONNECTIONS} (default ${DEFAULT_CONNECTIONS})`,
    fallback: () => DEFAULT_CONNECTIONS,
    problemOf: (value: number) =>
      value >= 1 && value <= MAX_CONNECTIONS ? undefined : `must be 1 to ${MAX_CONNECTIONS}`,
  } satisfies AccountField<number>,
  dkim: optional<AccountField<DkimKey>>({
    type: 'parts',
    doc: 'signs outgoing email with DKIM',
    parts: {
      domain: nameField('the signing domain'),
      selector: nameField('the name of the key in its DNS'),
      privateKey: {
        type: 'text',
        doc: `RSA private key in PEM format, ${RSA_BITS.min} to ${RSA_BITS.max} bits`,
        isSecret: true,
        problemOf: (pem: string) =>
          isUsableKey(pem)
            ? undefined
            : `must be an RSA key of ${RSA_BITS.min} to ${RSA_BITS.max} bits, in PEM`,
      } satisfies AccountField<string>,
    },
  }),
};

export type SmtpAccount = AccountOf<'smtp', typeof FIELDS>;

/** Also the password as AUTH PLAIN and AUTH LOGIN send it: some servers quote a command that they don't understand. */
export function secretsOf(account: SmtpAccount): readonly string[] {
  const { username = '', password } = account;
  const logins = password === undefined ? [] : [`\0${username}\0${password}`, password];
  return [...secretsIn(FIELDS, account), ...logins.map((text) => Buffer.from(text).toString('base64'))];
}

function isUsableKey(pem: string): boolean {
  if (pem.length > MAX_PEM_CHARACTERS) return false;
  try {
    const key = createPrivateKey(pem);
    const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
    if (key.asymmetricKeyType !== 'rsa' || publicExponent > MAX_EXPONENT) return false;
    if (modulusLength < RSA_BITS.min || modulusLength > RSA_BITS.max) return false;
    // Its numbers may not belong together.
    const sample = Buffer.from('sample');
    return verify('sha256', sample, createPublicKey(key), sign('sha256', sample, key));
  } catch {
    // OpenSSL can't read it.
    return false;
  }
}
