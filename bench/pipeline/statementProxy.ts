import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { MessageReader, StatementClock } from './statementClock.js';

/** A way to PostgreSQL that sees how long each named statement takes, as the process that asks sees it. */
export interface StatementProxy {
  /** For DATABASE_URL. */
  readonly url: string;
  /** Milliseconds of each statement since the last call, by the statement's name. */
  take(): ReadonlyMap<string, readonly number[]>;
  stop(): Promise<void>;
}

export async function startStatementProxy(databaseUrl: string): Promise<StatementProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let taken = new Map<string, number[]>();
  const onDone = (name: string, tookMs: number): void => {
    const times = taken.get(name);
    if (times) times.push(tookMs);
    else taken.set(name, [tookMs]);
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    const clock = new StatementClock(onDone);
    const asking = new MessageReader(true);
    const answering = new MessageReader(false);
    client.on('data', (part) => {
      asking.push(part, (type, content) => clock.asked(type, content));
      upstream.write(part);
    });
    upstream.on('data', (part) => {
      client.write(part);
      answering.push(part, (type) => clock.answered(type));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    take() {
      const all = taken;
      taken = new Map();
      return all;
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
