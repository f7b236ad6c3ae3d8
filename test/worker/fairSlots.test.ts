import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { FairSlots, type TenantQuota } from '../../src/worker/fairSlots.js';

/** Work that ends when the test says so. */
function openWork() {
  const begun: string[] = [];
  const enders: (() => void)[] = [];
  return {
    begun,
    work: (name: string) => () => {
      begun.push(name);
      return new Promise<void>((resolve) => enders.push(resolve));
    },
    endOne: async () => {
      enders.shift()?.();
      await settled();
    },
  };
}

/** The same beside others as alone. */
const share = (slots: number): TenantQuota => ({ alone: slots, contended: () => slots });

/** Until all that can go on has gone on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('delivery: slots for deliveries in flight', () => {
  it('lets no tenant hold more than its share, however many of it wait', async () => {
    const slots = new FairSlots(4, share(2));
    const { begun, work } = openWork();
    for (let i = 0; i < 100; i++) void slots.run(1, work(`a${i}`));
    void slots.run(2, work('b'));
    await settled();
    expect(begun).to.deep.equal(['a0', 'a1', 'b']);
  });

  it('lets tenants in by turns', async () => {
    const slots = new FairSlots(1, share(1));
    const { begun, work, endOne } = openWork();
    for (const name of ['a0', 'a1', 'a2']) void slots.run(1, work(name));
    for (const name of ['b0', 'b1']) void slots.run(2, work(name));
    void slots.run(3, work('c0'));
    for (let i = 0; i < 6; i++) await endOne();
    expect(begun).to.deep.equal(['a0', 'a1', 'b0', 'c0', 'a2', 'b1']);
  });

  it('holds a tenant to less while others have work, and for a second after', async () => {
    const slots = new FairSlots(8, { alone: 4, contended: () => 2 });
    const { begun, work, endOne } = openWork();
    for (let i = 0; i < 20; i++) void slots.run(1, work('a'));
    await settled();
    expect(begun.join('')).to.equal('aaaa');
    void slots.run(2, work('b'));
    for (let i = 0; i < 2; i++) await endOne();
    expect(begun.join(''), 'first down to two').to.equal('aaaab');
    await endOne();
    expect(begun.join('')).to.equal('aaaaba');
    await endOne();
    expect(begun.join('')).to.equal('aaaabaa');
    await delay(1_100);
    await endOne();
    expect(begun.join(''), 'b has ended, after a while: back to four').to.equal('aaaabaaaa');
  });

  it('limits a tenant further while other tenants have work in flight or waiting', async () => {
    const slots = new FairSlots(3, { alone: 3, contended: () => 1 });
    const { begun, work } = openWork();
    void slots.run(2, work('b'));
    await delay(1_100);
    for (let i = 0; i < 5; i++) void slots.run(1, work('a'));
    await settled();
    expect(begun.join('')).to.equal('ba');
  });

  it('lets in more as its process gets idle, though nobody comes or goes', async () => {
    let most = 1;
    const slots = new FairSlots(8, { alone: 8, contended: () => most });
    const { begun, work } = openWork();
    void slots.run(2, work('b'));
    for (let i = 0; i < 5; i++) void slots.run(1, work('a'));
    await settled();
    expect(begun.join('')).to.equal('ba');
    most = 3;
    await delay(200);
    expect(begun.join('')).to.equal('baaa');
    slots.close();
  });

  it('gives a slot back when the work aborts', async () => {
    const slots = new FairSlots(1, share(1));
    const broken = await slots.run(1, () => Promise.reject(new Error('broken'))).catch((e: unknown) => e);
    expect(broken).to.be.instanceOf(Error);
    const { begun, work } = openWork();
    void slots.run(1, work('next'));
    await settled();
    expect(begun).to.deep.equal(['next']);
  });

  it('lets nobody in after it was closed, and leaves those inside', async () => {
    const slots = new FairSlots(1, share(1));
    const { begun, work, endOne } = openWork();
    const inside = slots.run(1, work('in'));
    const waiting = slots.run(1, work('waiting'));
    slots.close();
    await waiting;
    await slots.run(2, work('late'));
    await endOne();
    await inside;
    expect(begun).to.deep.equal(['in']);
  });
});
