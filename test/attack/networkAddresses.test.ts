import { expect } from 'chai';
import { isLoopback, isPrivateAddress, clientNetwork } from '../../src/foundation/net/networkAddress.js';

/** One of each special-purpose block that lies outside of the internet, or is a way around a check of it. */
const REFUSED: Readonly<Record<string, string>> = {
  'IPv4-compatible': '::127.0.0.1',
  '6to4 of a loopback address': '2002:7f00:1::',
  'NAT64, local use': '64:ff9b:1::7f00:1',
  'NAT64, well-known': '64:ff9b::a9fe:a9fe',
  'site-local': 'fec0::1',
  'IPv4-translated': '::ffff:0:7f00:1',
  'IPv4-mapped': '::ffff:169.254.169.254',
  Teredo: '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  'discard-only': '100::1',
  documentation: '2001:db8::1',
  'documentation, 2024': '3fff::1',
  'segment routing': '5f00::1',
  ORCHIDv2: '2001:20::1',
  'IPv6 benchmarking': '2001:2::1',
  'unique local': 'fd00::1',
  'link-local with a zone': 'fe80::1%1',
  'IPv6 multicast': 'ff02::1',
  'carrier-grade NAT': '100.64.0.1',
  benchmarking: '198.18.0.1',
  'protocol assignments': '192.0.0.8',
  'TEST-NET-1': '192.0.2.1',
  'TEST-NET-3': '203.0.113.1',
  '6to4 relays': '192.88.99.1',
  multicast: '224.0.0.1',
  reserved: '240.0.0.1',
  broadcast: '255.255.255.255',
  'a name': 'localhost',
  'an octal number': '0177.0.0.1',
  nothing: '',
};

describe('attack: bypasses of the private address check', () => {
  for (const [name, address] of Object.entries(REFUSED)) {
    it(`refuse ${name}`, () => expect(isPrivateAddress(address)).to.equal(true));
  }

  it('allow public addresses', () => {
    for (const address of ['1.1.1.1', '172.32.0.1', '2606:4700::1', '2a00:1450::1', '::ffff:8.8.8.8']) {
      expect(isPrivateAddress(address), address).to.equal(false);
    }
  });

  it("recognize the local machine and a client's network in any notation", () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1']) {
      expect(isLoopback(address), address).to.equal(true);
    }
    for (const address of ['10.0.0.1', '::', '']) expect(isLoopback(address), address).to.equal(false);
    const site = ['2001:db8::1:2:3:4', '2001:db8:0:0:9::', '2001:db8::'].map(clientNetwork);
    expect(new Set(site).size).to.equal(1);
    expect(clientNetwork('2001:db8:0:1::')).not.to.equal(site[0]);
    expect(clientNetwork('::ffff:192.0.2.1')).to.equal(clientNetwork('192.0.2.1'));
  });
});
