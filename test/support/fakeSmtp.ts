import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { domainToASCII } from 'node:url';
import { simpleParser, type ParsedMail } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** One email as the server took it. */
export interface TakenEmail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: Buffer;
  readonly parsed: ParsedMail;
  /** Number of its connection, from 1. */
  readonly connection: number;
  readonly secure: boolean;
  readonly user: string | undefined;
}

/** What happens to an email once the final dot has come: `reply` is a reply, or `cut` or `hang` for none. */
export type AfterDot = { readonly taken: boolean; readonly reply: string };

export interface FakeSmtp {
  readonly port: number;
  readonly emails: readonly TakenEmail[];
  /** Connections so far. */
  readonly connections: () => number;
  /** Connections now. */
  readonly open: () => number;
  /** Decides for each email; takes and acknowledges it by default. */
  afterDot: (email: TakenEmail) => AfterDot;
  /** The reply to a recipient; undefined accepts it. */
  onRecipient: (address: string) => { code: number; text: string } | undefined;
  stop(): Promise<void>;
}

export const LOGIN = { username: 'shop', password: 'canary-password' };

/** A server by others (`smtp-server`) that keeps its own books; emails are read back by `mailparser`. */
export async function startFakeSmtp(options: Partial<SMTPServerOptions> = {}): Promise<FakeSmtp> {
  const emails: TakenEmail[] = [];
  const sockets = new Set<Socket>();
  const numbers = new Map<string, number>();
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    logger: false,
    size: 40_000_000,
    ...options,
    onConnect(session, callback) {
      numbers.set(session.id, numbers.size + 1);
      callback();
    },
    onAuth({ username, password }, _session, callback) {
      if (username === LOGIN.username && password === LOGIN.password) callback(null, { user: username });
      else callback(refusal({ code: 535, text: `5.7.8 no such login (${password})` }));
    },
    onRcptTo({ address }, _session, callback) {
      const refused = fake.onRecipient(address);
      callback(refused ? refusal(refused) : null);
    },
    onData(stream, session, callback) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const raw = Buffer.concat(parts);
        void simpleParser(raw).then((parsed) => {
          const email: TakenEmail = {
            from: session.envelope.mailFrom ? session.envelope.mailFrom.address : '',
            // The server shows domains as people write them.
            to: session.envelope.rcptTo.map(({ address }) => address.replace(/[^@]*$/, domainToASCII)),
            raw,
            parsed,
            connection: numbers.get(session.id) ?? 0,
            secure: session.secure,
            user: session.user as string | undefined,
          };
          const { taken, reply } = fake.afterDot(email);
          if (taken) emails.push(email);
          if (reply === 'hang') return;
          if (reply === 'cut') {
            for (const socket of sockets)
              if (socket.remotePort === session.remotePort) socket.resetAndDestroy();
            return;
          }
          const code = Number(reply.slice(0, 3));
          if (code < 400) callback(null, reply.slice(4));
          else callback(refusal({ code, text: reply.slice(4) }));
        });
      });
    },
  });
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  const fake: FakeSmtp = {
    get port() {
      return (server.server.address() as AddressInfo).port;
    },
    emails,
    connections: () => numbers.size,
    open: () => sockets.size,
    afterDot: () => ({ taken: true, reply: `250 2.0.0 queued as Q${emails.length + 1}` }),
    onRecipient: () => undefined,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return fake;
}

function refusal({ code, text }: { code: number; text: string }): Error {
  return Object.assign(new Error(text), { responseCode: code });
}
