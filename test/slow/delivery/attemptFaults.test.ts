import { AttemptFaults, SCENARIOS } from '../../delivery/attemptFaultsSetup.js';
import { ERRORS } from '../../delivery/faultyDeps.js';
import { testSeed } from '../../support/randomNumbers.js';

/** Of the kinds of errors at each call, one in so many, others in each run. `SHARE=1` takes all of them: about 20 minutes. */
const SHARE = Number(process.env['SHARE'] ?? 8);

const seed = testSeed();

describe(`delivery: every kind of fault wherever an attempt awaits something (SEED=${seed})`, () => {
  let attempts: AttemptFaults;
  before(async () => {
    attempts = await AttemptFaults.open();
  });
  after(() => attempts.close());

  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    it(name, async function () {
      this.timeout(1_800_000);
      for (const [of, call] of (await attempts.callsOf(scenario)).entries()) {
        for (const when of ['throws', 'rejects', 'fails afterwards'] as const) {
          if (when === 'rejects' && !call.isAsync) continue;
          for (const error of ERRORS.filter((_, index) => (index + of + seed) % SHARE === 0)) {
            await attempts.check(scenario, { of, when, error }).catch((failure: unknown) => {
              throw new Error(`${call.name} ${when} (${String(error)})`, { cause: failure });
            });
          }
        }
      }
    });
  }
});
