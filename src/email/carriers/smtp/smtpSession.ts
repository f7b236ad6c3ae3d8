import { connect, isIP, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { MeteredSocket } from '../../../foundation/net/meteredSocket.js';
import { isPrivateAddress } from '../../../foundation/net/networkAddress.js';
import { PrivateAddress, publicLookup } from '../../../foundation/net/publicLookup.js';
import { BOUNDED_TLS } from '../../../foundation/net/boundedTls.js';
import type { SmtpAccount } from './account.js';
import { isTemporary, surplusOf, type RefusedReply, type SmtpError } from './smtpReply.js';

export interface SessionOptions {
  readonly allowPrivateNetwork: boolean;
  /** Sent in EHLO. */
  readonly hostname: string;
}

export interface Envelope {
  readonly from: string;
  readonly to: readonly string[];
}

export interface Transmission {
  /** The final dot may have been sent, and with it the email. */
  dotMayHaveLeft: boolean;
  /** Aborted just before the final dot, because the attempt belongs to another worker. */
  fenced: boolean;
  /** There were more recipients than the server takes at once. */
  isFull: boolean;
}

/** The server's reply to one transaction. */
export interface Accepted {
  readonly response: string;
  readonly refused: readonly RefusedReply[];
  /** Recipients for another transaction. */
  readonly surplus: readonly string[];
}

/** A recipient was temporarily rejected: the email is not sent to the others either, so that a retry sends it to all. */
export class Deferred extends Error {
  constructor(readonly reply: SmtpError) {
    super('a recipient is refused for now');
  }
}

class Fenced extends Error {}

const CHUNK_BYTES = 65_536;
/**
 * Replies are a few lines of at most 512 bytes (RFC 5321, 4.5.3.1.5). The library's pattern for the challenge of CRAM-MD5
 * takes quadratic time: 3 s for 60 KB. It also queues any number of empty lines.
 */
const MAX_REPLY_BYTES = 4 * 1024;
/** A reply has at least 5 bytes, to which TLS 1.2 adds up to 90. */
const TLS_OVERHEAD = 20;

/** A logged-in connection to a server that sends one email at a time. Methods reject with an SmtpError. */
export class SmtpSession {
  sentEmails = 0;

  private constructor(private readonly connection: SMTPConnection) {
    // An error between two emails ends the connection, which `isOpen` reports.
    connection.on('error', () => undefined);
  }

  get isOpen(): boolean {
    return !this.connection.destroyed;
  }

  /** @param signal closes the connection at any time */
  static async open(
    account: SmtpAccount,
    options: SessionOptions,
    signal: AbortSignal,
  ): Promise<SmtpSession> {
    const socket = new MeteredSocket(await connectTo(account, options, signal), TLS_OVERHEAD);
    const { security, host, port, username, password } = account;
    const connection = new SMTPConnection({
      host,
      port,
      // Already connected, so its address is known to be public. More than a Duplex has is asked for only if it is there.
      connection: socket as unknown as Socket,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      name: options.hostname,
      socketCloseTimeout: 0,
      logger: false,
      tls: { ...BOUNDED_TLS, rejectUnauthorized: account.verifyCertificate, minVersion: 'TLSv1.2' },
    });
    socket.readableBytes = limitReplies(connection);
    const session = new SmtpSession(connection);
    try {
      await session.#until(signal, (done) => connection.connect(done));
      if (username !== undefined && password !== undefined) {
        await session.#until(signal, (done) =>
          connection.login({ credentials: { user: username, pass: password } }, done),
        );
      }
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /**
   * One transaction.
   * @param guard checked before the message is sent, and whether it may end just before the final dot
   */
  async send(
    envelope: Envelope,
    message: Buffer,
    guard: { readonly isForAll: boolean; readonly mayStart: () => boolean },
    transmission: Transmission,
    signal: AbortSignal,
  ): Promise<Accepted> {
    const body = Readable.from(this.#guarded(envelope, message, guard, transmission), { objectMode: false });
    try {
      const { response } = await this.#until<{ response: string }>(signal, (done) =>
        this.connection.send({ from: envelope.from, to: [...envelope.to], size: message.length }, body, done),
      );
      this.sentEmails += 1;
      const [refused, surplus] = this.#refused(envelope);
      return { response, refused, surplus: surplus.map(({ recipient = '' }) => recipient) };
    } catch (error) {
      transmission.isFull = this.#refused(envelope)[1].length > 0;
      throw error;
    }
  }

  close(): void {
    this.connection.close();
  }

  /** The message, whose end is held back until it is certain that the email should be sent. */
  *#guarded(
    envelope: Envelope,
    message: Buffer,
    { isForAll, mayStart }: { readonly isForAll: boolean; readonly mayStart: () => boolean },
    transmission: Transmission,
  ): Generator<Buffer> {
    // The server is receiving the message, so it has replied for every recipient.
    const [refused] = this.#refused(envelope);
    const deferred = refused.find(isTemporary);
    if (deferred && isForAll) throw new Deferred(deferred);
    const last = Math.max(0, message.length - CHUNK_BYTES);
    for (let at = 0; at < last; at += CHUNK_BYTES)
      yield message.subarray(at, Math.min(at + CHUNK_BYTES, last));
    if (!mayStart()) {
      transmission.fenced = true;
      throw new Fenced();
    }
    transmission.dotMayHaveLeft = true;
    yield message.subarray(last);
  }

  /** @returns the recipients refused so far, and apart those for whom there was no room */
  #refused({ to }: Envelope): readonly [refused: readonly RefusedReply[], surplus: readonly RefusedReply[]] {
    const all = refusedSoFar(this.connection);
    const surplus = surplusOf(to, all);
    return [all.filter((each) => !surplus.includes(each)), surplus];
  }

  /** Runs one step, and rejects if the connection ends, of which the library would not notify the step. */
  #until<T>(
    signal: AbortSignal,
    step: (done: (error?: Error | null, result?: T) => void) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const onError = (error: Error): void => end(() => reject(error));
      const onEnd = (): void => end(() => reject(new Error('the connection was closed')));
      const onAbort = (): void => {
        end(() => reject(signal.reason as Error));
        this.close();
      };
      const end = (settle: () => void): void => {
        signal.removeEventListener('abort', onAbort);
        this.connection.off('error', onError);
        this.connection.off('end', onEnd);
        settle();
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort);
      this.connection.on('error', onError);
      this.connection.on('end', onEnd);
      step((error, result) => end(() => (error ? reject(error) : resolve(result as T))));
    });
  }
}

/** The library only reports these after the email was sent to the others. */
function refusedSoFar(connection: SMTPConnection): readonly RefusedReply[] {
  const { _envelope: envelope } = connection as unknown as {
    _envelope?: { readonly rejectedErrors?: readonly RefusedReply[] };
  };
  return envelope?.rejectedErrors ?? [];
}

interface Internals {
  _onData: (chunk: Buffer) => void;
  _sendCommand: (...command: unknown[]) => void;
  readonly _onError: (error: Error, code: string) => void;
}

/**
 * Breaks the connection if the server sends more than a reply to the last command, before the library reads it. @returns the bytes of
 * all replies so far
 */
function limitReplies(connection: SMTPConnection): () => number {
  const internals = connection as unknown as Internals;
  const { _onData, _sendCommand, _onError } = internals;
  let [bytes, all] = [0, 0];
  internals._sendCommand = (...command) => {
    bytes = 0;
    _sendCommand.apply(connection, command);
  };
  internals._onData = (chunk) => {
    bytes += chunk.length;
    all += chunk.length;
    try {
      if (bytes > MAX_REPLY_BYTES) throw new Error('the reply is too long');
      _onData.call(connection, chunk);
    } catch (error) {
      // Thrown from here, it would end the process.
      _onError.call(connection, error as Error, 'EPROTOCOL');
    }
  };
  return () => all;
}

function connectTo(
  { host, port }: SmtpAccount,
  options: SessionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const { allowPrivateNetwork } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    if (!allowPrivateNetwork && isIP(host) !== 0 && isPrivateAddress(host)) {
      reject(new PrivateAddress());
      return;
    }
    const socket = connect({ host, port, ...(allowPrivateNetwork ? {} : { lookup: publicLookup }) });
    const onAbort = (): void => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort);
    socket.once('error', reject);
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
