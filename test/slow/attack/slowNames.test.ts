import { createSocket, type Socket } from 'node:dgram';
import dnsClient from 'node:dns/promises';
import { once } from 'node:events';
import { expect } from 'chai';
import { PrivateAddress, publicLookup } from '../../../src/foundation/net/publicLookup.js';
import { waitFor } from '../../support/waitFor.js';

/** DNS's response to a question (RFC 1035): the address, or that there is no such name. */
function responseTo(query: Buffer, address: readonly number[] | undefined): Buffer {
  const response = Buffer.from(query.subarray(0, 12 + query.subarray(12).indexOf(0) + 5));
  response.writeUInt16BE(address ? 0x8180 : 0x8183, 2);
  response.writeUInt16BE(address ? 1 : 0, 6);
  response.writeUInt32BE(0, 8);
  const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...(address ?? [])];
  return address ? Buffer.concat([response, Buffer.from(record)]) : response;
}

const ADDRESSES: Readonly<Record<string, readonly number[]>> = {
  public: [93, 184, 216, 34],
  private: [10, 0, 0, 1],
};

describe('attack: names of SMTP servers and identity providers', () => {
  const servers = dnsClient.getServers();
  let dns: Socket;
  const unanswered: (() => void)[] = [];

  before(async () => {
    dns = createSocket('udp4', (query, { port, address }) => {
      const name = query.subarray(13, 13 + (query[12] ?? 0)).toString();
      const isIPv4 = query.readUInt16BE(12 + query.subarray(12).indexOf(0) + 1) === 1;
      const response = (): void =>
        dns.send(responseTo(query, isIPv4 ? ADDRESSES[name] : undefined), port, address);
      if (name === 'slow') unanswered.push(response);
      else response();
    });
    dns.bind(0, '127.0.0.1');
    await once(dns, 'listening');
    dnsClient.setServers([`127.0.0.1:${dns.address().port}`]);
  });
  after(() => {
    dnsClient.setServers(servers);
    dns.close();
  });

  const resolve = (name: string, all = true): Promise<unknown> =>
    new Promise((done) => {
      publicLookup(name, { all }, (error, address, family) =>
        done(error ?? (all ? address : [address, family])),
      );
    });

  it('lead to public addresses only', async () => {
    expect(await resolve('public.example')).to.deep.equal([{ address: '93.184.216.34', family: 4 }]);
    expect(await resolve('public.example', false)).to.deep.equal(['93.184.216.34', 4]);
    expect(await resolve('private.example')).to.be.instanceOf(PrivateAddress);
    expect(await resolve('localhost')).to.be.instanceOf(PrivateAddress);
    expect(await resolve('missing.example')).to.include({ code: 'ENOTFOUND' });
  });

  it("don't hold up the lookups of others, however long their own servers take", async () => {
    const slow = Array.from({ length: 8 }, () => resolve('slow.example'));
    // More where they are asked again.
    await waitFor('the slow questions', () => unanswered.length >= 2 * slow.length);
    const first = await Promise.race([
      dnsClient.lookup('localhost').then(() => 'that of another'),
      ...slow.map((each) => each.then(() => 'a slow one')),
    ]);
    expect(first).to.equal('that of another');
    for (const response of unanswered) response();
    await Promise.all(slow);
  });
});
