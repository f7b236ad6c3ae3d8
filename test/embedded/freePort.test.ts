import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { findFreePort } from '../../src/embedded/freePort.js';

describe('free port', () => {
  it('is the preferred one if nothing listens on it', async () => {
    const wanted = await findFreePort();
    expect(await findFreePort(wanted)).to.equal(wanted);
  });

  it('is another one if the preferred one is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    try {
      expect(await findFreePort(port))
        .to.be.greaterThan(0)
        .and.not.equal(port);
    } finally {
      holder.close();
    }
  });
});
