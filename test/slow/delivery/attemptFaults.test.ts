import { AttemptFaults, SCENARIOS } from '../../delivery/attemptFaultsSetup.js';
import { ERRORS } from '../../delivery/faultyDeps.js';

/** All kinds everywhere would take ten minutes. */
const SHARE = 3;

describe('delivery: every kind of fault wherever an attempt awaits something', () => {
  let attempts: AttemptFaults;
  before(async () => {
    attempts = await AttemptFaults.open();
  });
  after(() => attempts.close());

  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    it(name, async function () {
      this.timeout(600_000);
      for (const [of, call] of (await attempts.callsOf(scenario)).entries()) {
        for (const when of ['throws', 'rejects', 'fails afterwards'] as const) {
          if (when === 'rejects' && !call.isAsync) continue;
          for (const error of ERRORS.filter((_, index) => index % SHARE === of % SHARE)) {
            await attempts.check(scenario, { of, when, error }).catch((failure: unknown) => {
              throw new Error(`${call.name} ${when} (${String(error)})`, { cause: failure });
            });
          }
        }
      }
    });
  }
});
