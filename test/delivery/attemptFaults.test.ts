import { expect } from 'chai';
import { AttemptFaults, SCENARIOS } from './attemptFaultsSetup.js';
import { ERRORS } from './faultyDeps.js';

describe('delivery: a fault wherever an attempt awaits something', () => {
  let attempts: AttemptFaults;
  before(async () => {
    attempts = await AttemptFaults.open();
  });
  after(() => attempts.close());

  // The slow lane has all scenarios, and all kinds of errors everywhere.
  for (const name of [
    'accepted',
    'accepted after a worker has died',
    'a refused recipient',
    'rate limited',
  ]) {
    it(`${name}: ends with a clear outcome, and never as if the worker had died`, async () => {
      const scenario = SCENARIOS[name]!;
      const calls = await attempts.callsOf(scenario);
      expect(calls.map((call) => call.name)).to.include.members([
        'ledger.query',
        'templates.render',
        'carriers.send',
      ]);
      for (const [of, call] of calls.entries()) {
        const error = ERRORS[(of + name.length) % ERRORS.length];
        const when = (of + name.length) % 2 === 0 ? 'throws' : 'fails afterwards';
        await attempts.check(scenario, { of, when, error }).catch((failure: unknown) => {
          throw new Error(`${call.name} ${when} (${String(error)})`, { cause: failure });
        });
      }
    });
  }

  it('that persists before the call ends the delivery as failed', async () => {
    const scenario = SCENARIOS['accepted']!;
    const calls = (await attempts.callsOf(scenario)).map(({ name }) => name);
    const first = new Set(calls.slice(0, calls.indexOf('carriers.send') + 1));
    // Without these, there is no attempt, or nothing can be recorded.
    for (const name of ['claimed.claim', 'slots.run', 'ledger.query', 'ledger.transaction'])
      first.delete(name);
    expect([...first]).to.include.members(['keyRing.decrypt', 'templates.render', 'claimed.begin']);
    for (const of of first) {
      const ended = await attempts.exhaust(scenario, { of, when: 'throws', error: new Error('a fault') });
      expect(ended, of).to.deep.equal({
        state: 'failed',
        error_code: 'INTERNAL_ERROR',
        outcomes: ['retry', 'retry', 'retry', 'retry'],
      });
    }
  });
});
