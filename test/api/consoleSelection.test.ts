import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at } from './webFixture.js';

const SELECTED = '/console/deliveries/selected';

const boxesOf = (ids: readonly string[]): Record<string, string> =>
  Object.fromEntries(ids.map((id) => [`delivery_${id}`, 'on'] as const));

describe('selected deliveries in the console', () => {
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

  const failed = (values: object = {}): Promise<string> =>
    shop.deliver(order, {
      state: 'failed',
      error_code: 'TEMPLATE_FAILED',
      recipients: ['Ada <ada@example.com>'],
      ...values,
    });
  const send = async (
    values: Readonly<Record<string, string>>,
    from: ConsoleBrowser = browser,
  ): Promise<readonly [status: number, html: string]> => {
    const response = await from.post(`${SELECTED}?status=failed`, { csrf, ...values });
    return [response.status, await response.text()];
  };
  const statesOf = async (ids: readonly string[]): Promise<string[]> => {
    const filter = `deliveryid in [${ids.map((id) => `'${id}'`).join(', ')}]`;
    const found = await shop.fixture.control(
      shop.root,
      'query ($filter: String) { email_delivery(filter: $filter, ordering: ["deliveryid"]) { state } }',
      { filter },
    );
    return (at(found, 'data.email_delivery') as { state: string }[]).map(({ state }) => state);
  };

  it('are sent again, and those that were sent or are being sent are left out with the reason', async () => {
    const ids = [
      await failed(),
      await failed({ state: 'sent', error_code: null, subject: 'Arrived' }),
      await failed({ state: 'pending', error_code: null }),
      await failed({ state: 'unknown' }),
      await failed(),
    ];
    const boxes = boxesOf(ids.slice(0, 4));
    const [status, html] = await send({ action: 'resend', ...boxes });
    expect(status).to.equal(200);
    expect(html)
      .to.include('2 deliveries are being sent again.')
      .and.include('2 were left out')
      .and.include('It was sent. Send it again on its own page.')
      .and.include('It is still being sent.')
      .and.include(`href="/console/deliveries/${ids[1]}"`)
      .and.include('href="/console/deliveries?status=failed"');
    expect(await statesOf(ids)).to.deep.equal(['pending', 'sent', 'pending', 'pending', 'failed']);
    // Sent by mistake a second time, it does nothing.
    expect((await send({ action: 'resend', ...boxes }))[1]).to.include('Nothing was sent again.');
  });

  it('are all of the page, as the page was when it was opened', async () => {
    const shown = [await failed({ target: 'shown' }), await failed({ target: 'shown' })];
    const html = await browser.page('/console/deliveries?table=shown');
    const listed = /name="shown" value="([^"]*)"/.exec(html)?.[1] ?? '';
    expect(listed).to.equal(shown.toReversed().join(','));
    const later = await failed({ target: 'shown' });
    const [, answer] = await send({ action: 'resend', all: 'on', shown: listed });
    expect(answer).to.include('2 deliveries are being sent again.');
    expect(await statesOf([...shown, later])).to.deep.equal(['pending', 'pending', 'failed']);
  });

  it('have their addresses suppressed: each once, none of several, none that is no address', async () => {
    const ids = [
      await failed({ recipients: ['Eve <Eve@example.com>'] }),
      await failed({ recipients: ['eve@example.com'] }),
      await failed({ recipients: ['one@example.com', 'two@example.com'] }),
      await failed({ recipients: ['nobody'] }),
      await failed({ recipients: null }),
    ];
    const [status, html] = await send({
      action: 'suppress',
      ...boxesOf(ids),
    });
    expect(status).to.equal(200);
    expect(html)
      .to.include('One address gets no more email.')
      .and.include('3 were left out')
      .and.include('It is for several people.')
      .and.include('Nobody knows whom it is for.');
    const listed = await shop.fixture.control(
      shop.root,
      '{ email_suppression(ordering: ["address"]) { address source } }',
    );
    expect(at(listed, 'data.email_suppression')).to.deep.equal([
      { address: 'eve@example.com', source: 'manual' },
    ]);
    const [, again] = await send({ action: 'suppress', [`delivery_${ids[0]}`]: 'on' });
    expect(again).to.include('No address was suppressed.').and.include('is already suppressed');
  });

  it('are at most a page of the tenant, and at least one', async () => {
    const id = await failed();
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`delivery_${i + 1}`, 'on']));
    for (const [values, problem] of [
      [{}, 'No delivery is selected.'],
      [{ all: 'on', shown: '' }, 'No delivery is selected.'],
      [{ delivery_x: 'on', 'delivery_1 or true': 'on' }, 'No delivery is selected.'],
      [many, 'More than 50 deliveries are selected.'],
      [
        {
          all: 'on',
          shown: Object.keys(many)
            .map((name) => name.slice(9))
            .join(','),
        },
        'More than 50',
      ],
    ] as const) {
      const [status, html] = await send({ action: 'resend', ...values });
      expect([status, html.includes(problem)], html).to.deep.equal([400, true]);
    }
    const other = await shop.signedIn('other');
    const theirs = await other.csrf('/console/deliveries');
    const [, html] = await send({ csrf: theirs, action: 'resend', [`delivery_${id}`]: 'on' }, other);
    expect(html).to.include('Nothing was sent again.');
    expect(await statesOf([id])).to.deep.equal(['failed']);
  });

  it('offer a viewer the file, and nothing that would be refused', async () => {
    const id = await failed();
    const viewer = await shop.signedIn('shop', 'viewer');
    const html = await viewer.page('/console/deliveries');
    expect(html)
      .to.include('value="export"')
      .and.not.include('value="resend"')
      .and.not.include('value="suppress"');
    const own = await viewer.csrf('/console/deliveries');
    for (const action of ['resend', 'suppress']) {
      const [status] = await send({ csrf: own, action, [`delivery_${id}`]: 'on' }, viewer);
      expect(status, action).to.equal(403);
    }
    expect(await statesOf([id])).to.deep.equal(['failed']);
    const [status, csv] = await send({ csrf: own, action: 'export', [`delivery_${id}`]: 'on' }, viewer);
    expect(status).to.equal(200);
    expect(csv.split('\r\n')).to.have.length(3);
    expect(csv).to.include(`"${id}"`);
  });
});
