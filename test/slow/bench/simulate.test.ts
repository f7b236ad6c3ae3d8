import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { solveNonNegative } from '../../../bench/simulate/leastSquares.js';
import { Heap } from '../../../bench/simulate/heap.js';
import { Installation } from '../../../bench/simulate/installation.js';
import { arrive } from '../../../bench/simulate/loads.js';
import { Account, Machine, Thread } from '../../../bench/simulate/machine.js';
import { COMPONENTS } from '../../../bench/simulate/measurements.js';
import { Random, Zipf } from '../../../bench/simulate/random.js';
import { Simulation } from '../../../bench/simulate/simulation.js';
import { Site, type Costs } from '../../../bench/simulate/site.js';
import { Slots } from '../../../bench/simulate/slots.js';
import { FairSlots } from '../../../src/worker/fairSlots.js';

const COST = { idle: 0, wake: 0, batch: 0, email: 1, mutation: 0, cold: 0, strange: 0 };

describe('bench/simulate', () => {
  describe('waiting times', () => {
    it('of one server are those of M/M/1', () => {
      const utilization = 0.7;
      expect(meanWaitMs(1, utilization)).to.be.closeTo(utilization / (1 - utilization), 0.1);
    });

    for (const servers of [2, 4]) {
      it(`of ${servers} servers are those of M/M/c`, () => {
        const utilization = 0.8;
        const expected = erlangC(servers, utilization) / (servers * (1 - utilization));
        expect(meanWaitMs(servers, utilization)).to.be.closeTo(expected, expected * 0.05);
      });
    }

    it('of an event loop on a machine with cores to spare are those of one server', () => {
      const utilization = 0.7;
      const wait = meanWaitMs(4, utilization / 4, true);
      expect(wait).to.be.closeTo(utilization / (1 - utilization), 0.1);
    });
  });

  it('sends each change as one email, and repeats itself', () => {
    const one = runInstallation(7);
    expect(one.mutated).to.be.greaterThan(1_000);
    expect(one.accepted).to.equal(one.mutated);
    expect(one.latenciesMs).to.have.length(one.mutated);
    expect(Math.min(...one.latenciesMs)).to.be.greaterThan(0);
    expect(runInstallation(7).latenciesMs).to.deep.equal(one.latenciesMs);
    expect(runInstallation(8).latenciesMs).not.to.deep.equal(one.latenciesMs);
  });

  it('admits to slots in the order of the real ones', async () => {
    const share = { alone: 4, contended: () => 2 };
    const arrivals = [1, 1, 1, 1, 1, 1, 2, 1, 3, 2, 2, 3, 1, 2];
    const real: number[] = [];
    const slots = new FairSlots(6, share);
    const ends: (() => void)[] = [];
    const works = arrivals.map((tenantid, turn) =>
      slots.run(tenantid, () => {
        real.push(turn);
        return new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    // Slots are given back in the order in which they were taken, one after the other.
    for (let ended = 0; ended < arrivals.length; ended++) {
      while (ends.length <= ended) await delay(1);
      ends[ended]!();
      await works[real[ended]!];
    }

    const simulated: number[] = [];
    const simulatedSlots = new Slots(new Simulation(), 6, share);
    arrivals.forEach((tenantid, turn) => simulatedSlots.take(tenantid, () => simulated.push(turn)));
    for (let ended = 0; ended < arrivals.length; ended++) {
      simulatedSlots.giveBack(arrivals[simulated[ended]!]!);
    }
    expect(simulated).to.deep.equal(real);
    expect(simulated).not.to.deep.equal(arrivals.map((_, turn) => turn));
  });

  it('gives the largest tenants their shares by Zipf', () => {
    const random = new Random(1);
    const zipf = new Zipf(Array.from({ length: 100 }, (_, n) => n + 1));
    const drawn = Array.from({ length: 100_000 }, () => zipf.draw(random));
    for (const rank of [1, 2, 10]) {
      const share = drawn.filter((each) => each === rank).length / drawn.length;
      expect(share).to.be.closeTo(1 / rank / zipf.weight, 0.005);
    }
    const distinct = new Set(drawn.slice(0, 200)).size;
    expect(distinct).to.be.closeTo(zipf.expectDistinct(200), 10);
  });

  it('finds costs that are not negative', () => {
    const costs = [0.5, 0, 2];
    const equations = [
      [10, 3, 1],
      [1, 10, 4],
      [2, 2, 9],
      [5, 1, 0],
    ].map((factors) => ({
      factors,
      result: factors.reduce((sum, factor, at) => sum + factor * costs[at]!, 0),
    }));
    solveNonNegative(equations).forEach((cost, at) => expect(cost).to.be.closeTo(costs[at]!, 1e-6));
    const [one, other] = solveNonNegative([
      { factors: [1, 1], result: 1 },
      { factors: [1, 2], result: 0.5 },
    ]);
    expect(one).to.be.greaterThan(0);
    expect(other).to.equal(0);
  });

  it('keeps a heap in order', () => {
    const random = new Random(3);
    const heap = new Heap<number>((one, other) => one < other);
    const items = Array.from({ length: 1_000 }, () => random.next());
    for (const item of items) heap.push(item);
    const popped = items.map(() => heap.pop());
    expect(popped).to.deep.equal([...items].sort((a, b) => a - b));
  });
});

const JOBS = 400_000;

/** Service times are exponential with a mean of 1 ms. */
function meanWaitMs(servers: number, utilization: number, inOneThread = false): number {
  const simulation = new Simulation();
  const random = new Random(11);
  let served = 0;
  let serviceMs = 0;
  const machine = new Machine(simulation, servers, () => {
    const ms = random.exponential(1);
    serviceMs += ms;
    return ms;
  });
  const account = new Account(COST);
  const thread = new Thread(simulation, machine, account);
  const run = inOneThread
    ? (then: () => void) => thread.run({ email: 1 }, then)
    : (then: () => void) => machine.run(account, { email: 1 }, then);
  let inSystemMs = 0;
  const untilMs = JOBS / (servers * utilization);
  arrive({ simulation, random }, 1000 * servers * utilization, untilMs, () => {
    const arrivedMs = simulation.nowMs;
    run(() => {
      served += 1;
      inSystemMs += simulation.nowMs - arrivedMs;
    });
  });
  simulation.runFor(untilMs * 2);
  return (inSystemMs - serviceMs) / served;
}

/** The chance to wait in M/M/c. */
function erlangC(servers: number, utilization: number): number {
  const load = servers * utilization;
  let term = 1;
  let sum = 0;
  for (let n = 0; n < servers; n++) {
    sum += term;
    term *= load / (n + 1);
  }
  const waiting = term / (1 - utilization);
  return waiting / (sum + waiting);
}

function runInstallation(seed: number): Installation {
  const simulation = new Simulation();
  const random = new Random(seed);
  const each = { idle: 1, wake: 0.05, batch: 0.1, email: 0.4, mutation: 0.2, cold: 2, strange: 1 };
  const costMs = Object.fromEntries(COMPONENTS.map((component) => [component, each])) as Costs;
  const crowd = {
    tenants: 20,
    perProcess: 5,
    draw: (from: Random) => 1 + Math.floor(from.next() * 20),
    strangeness: () => 0.1,
  };
  const terms = { costMs, flushMs: [0.5, 1, 5], carrierMs: () => 20, hopMs: 0.1, crowd };
  const site = new Site(simulation, random, terms, 4);
  const processes = { web: 2, workers: 2, relayBatch: 100, concurrency: 64, withPeers: true };
  const installation = new Installation(site, processes);
  arrive({ simulation, random }, 300, 5_000, () => installation.mutate(1 + Math.floor(random.next() * 20)));
  simulation.runFor(10_000);
  return installation;
}
