import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { AppError } from '../../../src/foundation/errors.js';
import { TenantLimiter } from '../../../src/foundation/limits/tenantLimiter.js';
import { generator, testSeed } from '../../support/randomNumbers.js';

/** Until all that can go on has gone on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when the test says so. */
function openWork() {
  const started: string[] = [];
  const enders = new Map<string, () => void>();
  return {
    started,
    work: (name: string) => () => {
      started.push(name);
      return new Promise<void>((resolve) => enders.set(name, resolve));
    },
    end: async (name: string) => {
      enders.get(name)?.();
      await settled();
    },
  };
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => (error as AppError).code,
  );

describe('the limiter of tenants', () => {
  it('leaves one tenant as much as is free: half for one, a third each for two', () => {
    const limiter = new TenantLimiter({ max: 12 });
    const one = limiter.open(1);
    expect(one.reserve(12), 'a single request may have all').to.equal(true);
    one.release();
    const unitsOf = (tenant: number): number => {
      for (let units = 0; ; units++) {
        const each = limiter.open(tenant);
        if (each.reserve(1)) continue;
        each.release();
        return units;
      }
    };
    expect([unitsOf(1), unitsOf(2), unitsOf(3)]).to.deep.equal([6, 3, 1]);
    expect(limiter.held).to.equal(10);
  });

  it('counts what does not fit until it is released, once', () => {
    const limiter = new TenantLimiter({ max: 10 });
    const [large, other] = [limiter.open(1), limiter.open(2)];
    expect(large.reserve(11)).to.equal(false);
    expect(other.reserve(1)).to.equal(false);
    large.release();
    large.release();
    expect(limiter.held).to.equal(1);
    expect(other.reserve(5)).to.equal(true);
    expect(other.reserve(-6)).to.equal(true);
    other.release();
    expect(limiter.held).to.equal(0);
  });

  it('lets work of a tenant wait, and refuses more of it, and what has waited too long', async () => {
    const limiter = new TenantLimiter({ perTenant: 1, waiting: 2, waitMs: 50 });
    const { started, work, end } = openWork();
    void limiter.run(1, work('a'));
    const waiting = [limiter.run(1, work('b')), limiter.run(1, work('late'))].map(codeOf);
    expect(await codeOf(limiter.run(1, work('refused')))).to.equal('TOO_BUSY');
    void limiter.run(2, work('other'));
    await end('a');
    expect(started).to.deep.equal(['a', 'other', 'b']);
    await delay(100);
    await end('b');
    expect(await Promise.all(waiting)).to.deep.equal([undefined, 'TOO_BUSY']);
    void limiter.run(1, work('next'));
    await settled();
    expect(started).to.deep.equal(['a', 'other', 'b', 'next']);
  });

  it('starts work of tenants by turns, and first of those that had none', async () => {
    const limiter = new TenantLimiter({ max: 1 });
    const { started, work, end } = openWork();
    for (const name of ['a0', 'a1', 'a2']) void limiter.run(1, work(name));
    for (const name of ['b0', 'b1']) void limiter.run(2, work(name));
    void limiter.run(3, work('c0'));
    for (let turn = 0; turn < 6; turn++) await end(started.at(-1) ?? '');
    expect(started).to.deep.equal(['a0', 'b0', 'c0', 'a1', 'b1', 'a2']);
  });

  it('starts what is behind work that has waited too long', async () => {
    const limiter = new TenantLimiter({ max: 10, waitMs: 50 });
    const { started, work } = openWork();
    void limiter.run(1, work('a'), 6);
    const large = codeOf(limiter.run(2, work('large'), 10));
    const small = delay(30).then(() => limiter.run(3, work('small'), 1));
    await delay(40);
    expect(started).to.deep.equal(['a']);
    expect(await large).to.equal('TOO_BUSY');
    await settled();
    expect(started).to.deep.equal(['a', 'small']);
    void small;
  });

  it('releases what failed work held', async () => {
    const limiter = new TenantLimiter({ max: 1 });
    const failure = await limiter.run(1, () => Promise.reject(new Error('broken'))).catch((e: unknown) => e);
    expect(failure).to.be.instanceOf(Error);
    expect(limiter.held).to.equal(0);
    expect(await limiter.run(2, () => Promise.resolve('done'), 100)).to.equal('done');
  });

  /** Random work of random sizes. What it may do follows from a list of what runs and what waits, at each start and between. */
  it('keeps its promises to all tenants, whatever they do', async () => {
    const pick = generator(testSeed());
    for (let round = 0; round < 40; round++) {
      const max = 1 + pick(20);
      const perTenant = pick(2) === 0 ? max : 1 + pick(max);
      const limiter = new TenantLimiter({ max, perTenant });
      const running: { tenant: number; units: number; end: () => void }[] = [];
      const waiting: { tenant: number; units: number; id: number; since: number }[] = [];
      const starts: number[] = [];
      /** How many had started when a tenant's work last ended. */
      const lastEnds = new Map<number, number>();
      const endOne = (): void => {
        const [one] = running.splice(pick(running.length), 1);
        if (one) lastEnds.set(one.tenant, starts.length);
        one?.end();
      };
      const sumOf = (tenant?: number): number =>
        running.reduce(
          (sum, each) => sum + (tenant === undefined || each.tenant === tenant ? each.units : 0),
          0,
        );
      const isWithinQuota = (tenant: number, units: number): boolean => {
        const held = sumOf(tenant);
        return held + units <= perTenant && (held === 0 || held + units <= max - sumOf() - units);
      };
      let failure: unknown;
      const add = (id: number): void => {
        const [tenant, units] = [pick(4), 1 + pick(Math.min(perTenant, 1 + pick(max)))];
        waiting.push({ tenant, units, id, since: starts.length });
        const work = (): Promise<void> => {
          const index = waiting.findIndex((each) => each.tenant === tenant);
          const [first] = waiting.splice(index, 1);
          expect(first?.id, 'first come, first served').to.equal(id);
          expect(isWithinQuota(tenant, units), 'within its quota').to.equal(true);
          expect(sumOf() + units, 'within all').to.be.at.most(max);
          starts.push(tenant);
          for (const other of waiting) {
            const isFirst = waiting.find((each) => each.tenant === other.tenant) === other;
            if (!isFirst || sumOf(other.tenant) > 0) continue;
            const before = starts.slice(
              Math.max(other.since, starts.lastIndexOf(other.tenant) + 1, lastEnds.get(other.tenant) ?? 0),
            );
            const overtaken = before.filter((each) => each === tenant).length;
            expect(overtaken, 'no tenant that holds nothing is overtaken twice').to.be.at.most(1);
          }
          return new Promise((resolve) => running.push({ tenant, units, end: resolve }));
        };
        limiter.run(tenant, work, units).catch((error: unknown) => (failure = error));
      };
      for (let step = 0; step < 100; step++) {
        if (pick(5) < 3) add(step);
        else endOne();
        await settled();
        if (failure !== undefined) throw failure as Error;
        expect(limiter.held).to.equal(sumOf());
        const firsts = waiting.filter(
          ({ tenant, id }) => waiting.find((w) => w.tenant === tenant)?.id === id,
        );
        const mayStart = firsts.filter(({ tenant, units }) => isWithinQuota(tenant, units));
        const fits = mayStart.every(({ units }) => units <= max - sumOf());
        expect(mayStart.length > 0 && fits, 'nothing waits without need').to.equal(false);
      }
      while (running.length > 0) {
        endOne();
        await settled();
      }
      expect(waiting).to.deep.equal([]);
      expect(limiter.held).to.equal(0);
    }
  });
});
