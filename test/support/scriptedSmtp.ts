import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

export type Command = 'CONNECT' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'MESSAGE';

export interface Step {
  readonly command: Command;
  /** Of `RCPT`. */
  readonly address: string;
  /** Recipients that this transaction has accepted so far. */
  readonly accepted: readonly string[];
  /** Transactions that were completed over this connection. */
  readonly completed: number;
}

/** Without an opinion, it accepts; `cut` breaks the connection instead. */
export type Script = (step: Step) => string | undefined;

/** A server that says what it is told, command by command, and keeps its own books. */
export interface ScriptedSmtp {
  readonly port: number;
  /** The recipients of each transaction that it has accepted. */
  readonly taken: readonly (readonly string[])[];
  script: Script;
  stop(): Promise<void>;
}

const ACCEPTS: Readonly<Record<Command, string>> = {
  CONNECT: '220 scripted',
  EHLO: '250-scripted\r\n250-PIPELINING\r\n250-AUTH PLAIN\r\n250 ENHANCEDSTATUSCODES',
  AUTH: '235 2.7.0 welcome',
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  MESSAGE: '250 2.0.0 queued',
};

export async function startScriptedSmtp(options: { readonly pipelining: boolean }): Promise<ScriptedSmtp> {
  const sockets = new Set<Socket>();
  const taken: (readonly string[])[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    let accepted: string[] = [];
    let hasSender = false;
    let completed = 0;
    let isMessage = false;
    let rest = '';
    /** @returns whether it was accepted */
    const reply = (command: Command, address = ''): boolean => {
      let said = smtp.script({ command, address, accepted, completed }) ?? ACCEPTS[command];
      if (said === 'cut') {
        socket.resetAndDestroy();
        return false;
      }
      if (command === 'DATA' && accepted.length === 0 && said.startsWith('3'))
        said = '554 5.5.1 no recipients';
      if (command === 'EHLO' && !options.pipelining) said = said.replace('250-PIPELINING\r\n', '');
      socket.write(`${said}\r\n`);
      return /^[23]/.test(said);
    };
    const read = (line: string): void => {
      const address = /<(.*)>/.exec(line)?.[1] ?? '';
      if (/^EHLO/i.test(line)) reply('EHLO');
      else if (/^AUTH/i.test(line)) reply('AUTH');
      else if (/^MAIL/i.test(line)) {
        accepted = [];
        hasSender = reply('MAIL');
      } else if (!hasSender) socket.write('503 5.5.1 MAIL first\r\n');
      else if (/^RCPT/i.test(line)) {
        if (reply('RCPT', address)) accepted = [...accepted, address];
      } else if (/^DATA/i.test(line)) isMessage = reply('DATA');
      else socket.write('250 2.0.0 ok\r\n');
    };
    reply('CONNECT');
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (;;) {
        const end = isMessage ? '\r\n.\r\n' : '\r\n';
        const at = rest.indexOf(end);
        if (at < 0 || socket.destroyed) return;
        const line = rest.slice(0, at);
        rest = rest.slice(at + end.length);
        if (!isMessage) read(line);
        else {
          isMessage = false;
          if (reply('MESSAGE')) {
            completed += 1;
            taken.push(accepted);
          }
        }
      }
    });
  });
  const smtp: ScriptedSmtp = {
    get port() {
      return (server.address() as AddressInfo).port;
    },
    taken,
    script: () => undefined,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return smtp;
}
