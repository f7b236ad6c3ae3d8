/** A tenant's account at a carrier, decrypted: what a carrier needs besides the mail. */
export type Account = SendgridAccount | SmtpAccount;

export type CarrierKind = Account['kind'];

export interface SendgridAccount {
  readonly kind: 'sendgrid';
  readonly apikey: string;
}

export interface SmtpAccount {
  readonly kind: 'smtp';
  readonly host: string;
  readonly port: number;
  /** `tls`: from the first byte. `starttls`: required before anything else. `none`: in clear text. */
  readonly security: 'tls' | 'starttls' | 'none';
  readonly verifyCertificate: boolean;
  /** Without one there is no authentication. */
  readonly username?: string;
  readonly password?: string;
  /** Connections at once from one worker. */
  readonly maxConnections: number;
  readonly dkim?: DkimKey;
}

export interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  /** PEM */
  readonly privateKey: string;
}

/** Those that are given the delivery's idempotency key and honour it: sending again is no duplicate there. */
export const IDEMPOTENT_CARRIERS: ReadonlySet<string> = new Set();

/** What must appear in no message. */
export function secretsOf(account: Account): readonly string[] {
  const secrets = account.kind === 'smtp' ? [account.password, account.dkim?.privateKey] : [account.apikey];
  return secrets.filter((secret) => secret !== undefined && secret !== '') as readonly string[];
}
