import { expect } from 'chai';
import { codeOf } from '../api/webFixture.js';
import { Shop } from '../control/emailShop.js';
import { waitFor } from '../support/waitFor.js';

/** Of one tenant. */
const UNDER_WAY = 2;
const WAITING = 20;

describe('attack: test emails to a server that does not respond', () => {
  let shop: Shop;
  before(async () => {
    // None of them is given up for its time.
    shop = await Shop.open({ SEND_DEADLINE_MS: '60000', PG_POOL_TIMEOUT_MS: '120000' });
  });
  after(() => shop.close());

  it('are in memory a few at a time, and further ones are refused', async () => {
    let respond = (): void => undefined;
    const until = new Promise<void>((resolve) => (respond = resolve));
    shop.provider.behave = () => ({ kind: 'held', until });
    const type = await shop.createPlainType({
      template: "{% set text = ('é' * 50000) | safe %}{% for n in range(6) %}{{ text }}{% endfor %}",
    });
    const codes: (string | undefined)[] = [];
    const send = async (): Promise<void> => {
      codes.push(codeOf(await shop.send({ type, context: {}, to: 'me@example.com' })));
    };
    const sent = Array.from({ length: 80 }, send);
    await waitFor('the others to be refused', () => codes.length === sent.length - UNDER_WAY - WAITING);
    expect(new Set(codes)).to.deep.equal(new Set(['TOO_BUSY']));
    await waitFor('two to be with the carrier', () => shop.provider.calls.length === UNDER_WAY);
    respond();
    await Promise.all(sent);
    expect(codes.filter((code) => code === undefined).length).to.equal(UNDER_WAY + WAITING);
  });
});
