import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { namesIn, type Canary } from '../rig/canaries.js';
import type { ProviderEntry } from './ledger.js';

/** Of an email with 451, for logins that begin with this: so that a second transport gets work. */
export const OFTEN_BUSY = 'often-busy-';
const BUSY_EVERY = 3;
const MAX_HTML = 500;

export interface SmtpBooks {
  readonly record: (entry: ProviderEntry) => void;
  readonly canaries: () => readonly Canary[];
}

/** Takes every email with its login's password as the API key. @returns once it listens, its port */
export function startSmtpServer({ record, canaries }: SmtpBooks): Promise<number> {
  let emails = 0;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    logger: false,
    onAuth: ({ username, password }, _session, callback) =>
      callback(null, { user: { login: username ?? '', password: password ?? '' } as never }),
    onData(stream, session, callback) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const receivedAtMs = Date.now();
        const { login, password } = session.user as unknown as { login: string; password: string };
        const isBusy = login.startsWith(OFTEN_BUSY) && ++emails % BUSY_EVERY === 0;
        const raw = Buffer.concat(parts);
        void simpleParser(raw).then(({ messageId, subject, html }) => {
          const [, tenantid = '', deliveryid = ''] = /^<delivery\.(\d+)\.(\d+)@/.exec(messageId ?? '') ?? [];
          record({
            deliveryid,
            tenantid,
            apiKey: password,
            carrier: 'smtp',
            recipients: session.envelope.rcptTo.map(({ address }) => address),
            subject: subject ?? '',
            html: (html || '').slice(0, MAX_HTML),
            receivedAtMs,
            answeredAtMs: Date.now(),
            accepted: !isBusy,
            isRepeated: false,
            behavior: isBusy ? 'reply' : 'accept',
            secrets: namesIn(raw.toString('latin1'), canaries()),
          });
          if (isBusy) callback(Object.assign(new Error('4.3.2 busy'), { responseCode: 451 }));
          else callback(null, '2.0.0 queued');
        });
      });
    },
  });
  // Of connections whose process was killed.
  server.on('error', () => undefined);
  return new Promise((resolve) => {
    const { server: net } = server;
    net.once('listening', () => resolve((net.address() as { port: number }).port));
    server.listen(0, '127.0.0.1');
  });
}
