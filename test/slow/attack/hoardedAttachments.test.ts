import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Account } from '../../../src/email/carriers/account.js';
import { carrierOptions } from '../../support/openCarrier.js';
import { createCarriers } from '../../../src/email/carriers/createCarriers.js';
import type { Carriers, SendOutcome } from '../../../src/email/carriers/sending.js';
import { waitFor } from '../../support/waitFor.js';
import type { FileStorage } from '../../../src/files/storage/fileStorage.js';

const HOSTILE = 1;
const MEGABYTE = 1_000_000;
/** Longer than anything here takes: what hangs ends when the test says so. */
const DEADLINE_MS = 60_000;

const storage: FileStorage = {
  read: () => Promise.resolve(Readable.from([Buffer.from('a file')])),
  write: () => Promise.reject(new Error('nothing is written')),
  remove: () => Promise.reject(new Error('nothing is removed')),
  close: () => Promise.resolve(),
};

describe("attack: attachments for a tenant's own server, which never responds", () => {
  let silent: Server;
  let provider: HttpServer;
  let carriers: Carriers;
  const sockets = new Set<Socket>();
  /** Whether the silent server ends its connections, and with them what hangs. */
  let isOver = false;

  before(async () => {
    silent = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      if (isOver) socket.destroy();
    }).listen(0, '127.0.0.1');
    provider = createHttpServer((req, res) => {
      req.resume().on('end', () => res.end('{"id":"sent"}'));
    }).listen(0, '127.0.0.1');
    await Promise.all([once(silent, 'listening'), once(provider, 'listening')]);
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    carriers = createCarriers({
      ...carrierOptions(url),
      storage,
    });
  });
  beforeEach(() => {
    sockets.clear();
    isOver = false;
  });
  after(async () => {
    silent.close();
    provider.closeAllConnections();
    provider.close();
    await carriers.close();
  });

  const send = (
    tenantid: number,
    account: Account,
    size: number,
    html = '<p>hello</p>',
  ): Promise<SendOutcome> =>
    carriers.send(
      {
        tenantid,
        deliveryid: '1',
        sender: { email: 'shop@example.com', name: '' },
        recipients: [{ email: 'ada@example.com', name: '' }],
        cc: [],
        bcc: [],
        subject: 'hello',
        html,
        attachments:
          size === 0 ? [] : [{ filename: 'a.txt', mimetype: 'text/plain', size, objectkey: '1/aa/aa' }],
      },
      { account, deadlineMs: DEADLINE_MS, mayStart: () => true },
    );
  const hang = (tenantid: number, size = 20 * MEGABYTE, html?: string): Promise<SendOutcome> => {
    const { port } = silent.address() as AddressInfo;
    const options = { security: 'none', verifyCertificate: true, maxConnections: 20 } as const;
    return send(tenantid, { kind: 'smtp', host: '127.0.0.1', port, ...options }, size, html);
  };
  const endConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  /** Ends all that hangs. */
  const end = async (hanging: readonly Promise<SendOutcome>[]): Promise<void> => {
    isOver = true;
    endConnections();
    for (const outcome of await Promise.all(hanging)) expect(outcome.kind).to.equal('retry');
  };
  /** @returns how many have ended, as it goes on */
  const countEnds = (hanging: readonly Promise<SendOutcome>[]): (() => number) => {
    let ends = 0;
    for (const each of hanging) void each.then(() => (ends += 1));
    return () => ends;
  };
  const resend = { kind: 'resend', apikey: 're_key' } as const;

  it('leave room for those of others', async () => {
    const hanging = Array.from({ length: 4 }, () => hang(HOSTILE));
    const ends = countEnds(hanging);
    for (let tenantid = 2; tenantid < 12; tenantid++) {
      expect((await send(tenantid, resend, 20 * MEGABYTE)).kind).to.equal('sent');
    }
    expect(ends()).to.equal(0);
    await end(hanging);
  });

  it('are not the only ones that take memory: long texts do as well', async () => {
    const hanging = Array.from({ length: 20 }, () => hang(HOSTILE, 0, 'x'.repeat(2 * MEGABYTE)));
    await waitFor('the first of them', () => sockets.size > 0);
    await delay(300);
    expect(sockets.size).to.be.at.most(5);
    const short = Array.from({ length: 10 }, () => hang(2, 0));
    await waitFor('the short ones', () => sockets.size > 10);
    await end([...hanging, ...short]);
  });

  it('of several tenants keep others waiting for one response, not for all', async () => {
    const hanging = [1, 2, 3].flatMap((tenantid) => Array.from({ length: 2 }, () => hang(tenantid)));
    const ends = countEnds(hanging);
    await waitFor('the first of them', () => sockets.size === 3);
    const other = send(4, resend, 20 * MEGABYTE);
    endConnections();
    expect((await other).kind).to.equal('sent');
    expect(ends()).to.equal(3);
    await end(hanging);
  });
});
