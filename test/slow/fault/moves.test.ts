import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { runMoves, STRIKES, type MovesResult } from '../../../fault/movesRun.js';

/** Debian's package `postgresql-client` has it. */
const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;
const MAX_PAUSE_MS = 10_000;

if (HAS_PG_DUMP) {
  /** The short form of `npm run fault -- --only moves`. */
  describe('tenants move between two cells under load, and the command is killed in each step', function () {
    let result: MovesResult;

    before(async () => {
      result = await runMoves({
        moves: STRIKES.length,
        strikes: STRIKES,
        rate: 10,
        killSeconds: 0,
        say: () => undefined,
      });
    });

    it('loses nothing, sends nothing twice, and shows nobody a wrong row', () => {
      expect(result.orders).to.be.above(50);
      const { lost, double, wrong } = result;
      expect({ lost, double, wrong }).to.deep.equal({ lost: [], double: [], wrong: [] });
      expect(result.emails).to.equal(result.orders);
    });

    it('states how long nobody served the tenant', () => {
      expect(result.pausesMs).to.not.be.empty;
      expect(Math.max(...result.pausesMs)).to.be.below(MAX_PAUSE_MS);
    });
  });
}
