import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { WebFixture } from '../../api/webFixture.js';
import { waitFor } from '../../support/waitFor.js';

const MIB = 1024 * 1024;
/** Half of what the bodies of all may hold: what one owner of bodies gets. */
const SHARE_BYTES = 32 * MIB;

describe('attack: bodies that are sent but for their last byte', () => {
  let fixture: WebFixture;
  const sockets: Socket[] = [];
  before(async () => {
    fixture = await WebFixture.start({ env: { TRUST_PROXY: '1' } });
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  after(() => fixture.stop());

  /** What has become of a request with one byte to come. */
  interface Held {
    status?: string;
    isBroken: boolean;
  }
  const hold = (path: string, bytes: number, headers: readonly string[]): Held => {
    const held: Held = { isBroken: false };
    const socket = connect(fixture.web.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined).once('close', () => (held.isBroken = true));
    socket.once('data', (response: Buffer) => (held.status = response.toString().slice(9, 12)));
    socket.write(
      [`POST ${path} HTTP/1.1`, 'host: x', ...headers, `content-length: ${bytes}`, '', ''].join('\r\n'),
    );
    socket.write(Buffer.alloc(bytes - 1, ' '));
    return held;
  };
  const report = (from: string): Promise<Response> =>
    fixture.fetch('/events/sendgrid/1', {
      method: 'POST',
      headers: { 'x-forwarded-for': from },
      body: ' '.repeat(MIB),
    });
  /** As many as would hold twice the share. */
  const holdBodies = (path: string, bytes: number, headers: readonly string[]): Held[] =>
    Array.from({ length: (2 * SHARE_BYTES) / bytes }, () => hold(path, bytes, headers));
  const expectHalfRefused = async (held: readonly Held[]): Promise<void> => {
    const statuses = (): string[] => held.flatMap(({ status }) => status ?? []);
    await waitFor('half of them to be refused', () => statuses().length >= held.length / 2);
    expect(new Set(statuses())).to.deep.equal(new Set(['503']));
  };

  it('of an anonymous client, for the reports of a tenant: those of others find room', async () => {
    const bytes = 2 * MIB;
    await expectHalfRefused(holdBodies('/events/sendgrid/1', bytes, ['x-forwarded-for: 192.0.2.1']));
    // Read, and found to be unsigned.
    expect((await report('192.0.2.2')).status).to.equal(401);
  });

  it('of an anonymous client with many addresses: those of tenants find room, and reports of their carriers', async () => {
    const isOver = ({ status, isBroken }: Held): boolean => status === '503' || isBroken;
    const held: Held[] = [];
    // The smaller ones take what the larger ones leave.
    for (const [network, bytes] of [2 * MIB, MIB / 8].entries()) {
      const next = Array.from({ length: (2 * SHARE_BYTES) / bytes }, (_, part) =>
        hold('/events/sendgrid/1', bytes, [`x-forwarded-for: 2001:db8:${network}:${part.toString(16)}::1`]),
      );
      held.push(...next);
      await waitFor('some to be refused', () => held.some(isOver));
    }
    expect((await report('192.0.2.2')).status).to.equal(401);
    expect(
      held.filter((each) => !isOver(each)),
      'that are held still',
    ).not.to.deep.equal([]);
    const { tenantid } = await fixture.createTenant('busy');
    const { access_token: token } = await fixture.signIn(tenantid);
    const large = { query: '{ __typename }', more: ' '.repeat(900_000) };
    const response = await fixture.postJson('/query', large, { authorization: `Bearer ${token}` });
    expect(response.status).to.equal(200);
  });

  for (const [path, from] of [
    ['/events/sendgrid/1', '192.0.2.1'],
    ['/auth', '192.0.2.2'],
    ['/console/sign-in', '192.0.2.3'],
  ] as const) {
    it(`of an anonymous client, of 30,000 bytes each, for ${path}: they are no more than large ones`, async () => {
      const headers = [`x-forwarded-for: ${from}`, 'content-type: application/x-www-form-urlencoded'];
      const held = Array.from({ length: 590 }, () => hold(path, 30_000, headers));
      await waitFor('some to be refused', () => held.some(({ status }) => status === '503'));
      const signIn = { tenantid: 1, login: 'nobody here', password: 'any password' };
      expect((await fixture.postJson('/auth', signIn)).status).to.equal(401);
    });
  }

  it("of a tenant's anonymous clients, for its tables: the large requests of other tenants find room", async () => {
    const { tenantid } = await fixture.createTenant('hostile');
    const { access_token: root } = await fixture.signIn(tenantid);
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const visit = await fixture.postJson('/anonauth', { tenantid });
    const { access_token: nobody } = (await visit.json()) as { access_token: string };
    await expectHalfRefused(
      holdBodies('/query', MIB, [`authorization: Bearer ${nobody}`, 'content-type: application/json']),
    );
    const other = await fixture.createTenant('other');
    const { access_token: token } = await fixture.signIn(other.tenantid);
    const large = { query: '{ __typename }', more: ' '.repeat(500_000) };
    const response = await fixture.postJson('/query', large, { authorization: `Bearer ${token}` });
    expect(response.status).to.equal(200);
  });
});
