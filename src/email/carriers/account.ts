/** A tenant's account at a carrier, decrypted: everything a carrier needs besides the email. */
export type Account =
  SendgridAccount | SmtpAccount | SesAccount | ResendAccount | PostmarkAccount | MailgunAccount;

export type CarrierKind = Account['kind'];

export interface SendgridAccount {
  readonly kind: 'sendgrid';
  readonly apikey: string;
}

export interface SesAccount {
  readonly kind: 'ses';
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** The configuration set that publishes events; by default the account's. */
  readonly configurationSet?: string;
}

export interface ResendAccount {
  readonly kind: 'resend';
  readonly apikey: string;
}

export interface PostmarkAccount {
  readonly kind: 'postmark';
  /** A server token. */
  readonly apikey: string;
  /** By default the carrier's. */
  readonly messageStream?: string;
}

export interface MailgunAccount {
  readonly kind: 'mailgun';
  readonly apikey: string;
  /** The sending domain. */
  readonly domain: string;
  readonly region: 'us' | 'eu';
}

export interface SmtpAccount {
  readonly kind: 'smtp';
  readonly host: string;
  readonly port: number;
  /** `tls`: from the first byte. `starttls`: required before anything else. `none`: in clear text. */
  readonly security: 'tls' | 'starttls' | 'none';
  readonly verifyCertificate: boolean;
  /** Without one, there is no authentication. */
  readonly username?: string;
  readonly password?: string;
  /** Maximum connections per worker. */
  readonly maxConnections: number;
  readonly dkim?: DkimKey;
}

export interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  /** PEM */
  readonly privateKey: string;
}

/** Values that must not appear in any message. */
export function secretsOf(account: Account): readonly string[] {
  return all(account).filter((secret) => secret !== undefined && secret !== '') as readonly string[];
}

function all(account: Account): readonly (string | undefined)[] {
  switch (account.kind) {
    case 'smtp':
      return [account.password, ...encodedLogins(account), account.dkim?.privateKey];
    case 'ses':
      return [account.secretAccessKey, account.accessKeyId];
    default:
      return [account.apikey];
  }
}

/** The password as AUTH PLAIN and AUTH LOGIN send it: some servers quote a command that they don't understand. */
function encodedLogins({ username = '', password }: SmtpAccount): readonly string[] {
  if (password === undefined) return [];
  return [`\0${username}\0${password}`, password].map((text) => Buffer.from(text).toString('base64'));
}
