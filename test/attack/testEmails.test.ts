import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { codeOf } from '../api/webFixture.js';
import { Shop } from '../control/emailShop.js';

/** Of one tenant. */
const UNDER_WAY = 2;
const WAITING = 20;
/** Requests sent at a time: few, since two are composed at once. */
const TOGETHER = 4;

describe('attack: test emails to a server that does not respond', () => {
  let shop: Shop;
  before(async () => {
    shop = await Shop.open({ SEND_DEADLINE_MS: '1000' });
  });
  after(() => shop.close());

  it('are in memory a few at a time, and further ones are refused', async () => {
    shop.provider.behave = () => ({ kind: 'hang' });
    const type = await shop.createPlainType({
      template: "{% set text = ('é' * 50000) | safe %}{% for n in range(6) %}{{ text }}{% endfor %}",
    });
    const codes: (string | undefined)[] = [];
    let held = 0;
    let most = 0;
    const send = async (): Promise<void> => {
      most = Math.max(most, ++held);
      codes.push(codeOf(await shop.send({ type, context: {}, to: 'me@example.com' })));
      held -= 1;
    };
    const sent: Promise<void>[] = [];
    for (let n = 0; n < 20; n += 1) {
      for (let k = 0; k < TOGETHER; k += 1) sent.push(send());
      await delay(100);
    }
    expect(most).to.be.at.most(UNDER_WAY + WAITING + TOGETHER);
    await Promise.all(sent);
    expect(new Set(codes)).to.deep.equal(new Set(['TOO_BUSY', undefined]));
    expect(shop.provider.calls.length).to.be.greaterThan(UNDER_WAY);
  });
});
