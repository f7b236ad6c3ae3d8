import { expect } from 'chai';
import type { RunResult } from '../../../fault/checkedRun.js';
import { verdictLines, windowTable } from '../../../fault/report/print.js';
import type { Backend } from '../../../fault/markers.js';
import type { WindowRow } from '../../../fault/analysis/windowReport.js';
import { SHOP_CARRIERS } from '../../../fault/rig/shopCarrier.js';
import { WINDOWS } from '../../../fault/windows/index.js';
import { runWindows } from '../../../fault/windowsRun.js';

/**
 * Strikes in each window: with Redis as many as a window has forms at most. The queue in PostgreSQL takes the same paths.
 * `npm run fault` strikes more often.
 */
const KILLS: Readonly<Record<Backend, number>> = { redis: 3, postgres: 1 };
const MUTATIONS_PER_SECOND = 10;

for (const [backend, kills] of Object.entries(KILLS) as [Backend, number][]) {
  describe(`every stage of an email's life, with the queue in ${backend}`, function () {
    let result: RunResult<WindowRow>;

    before(async () => {
      const say = (): void => undefined;
      result = await runWindows({
        backend,
        kills,
        carriers: SHOP_CARRIERS,
        only: [],
        minutes: undefined,
        rate: MUTATIONS_PER_SECOND,
        say,
      });
    });

    it(`survives at least ${kills} kills without losing anything`, () => {
      const struck = Object.fromEntries(result.rows.map(({ window, kills: count }) => [window, count]));
      for (const { name, share = 1 } of WINDOWS) expect(struck[name], name).to.be.at.least(kills * share);
      expect(result.rows.filter(({ lost }) => lost > 0)).to.deep.equal([]);
      expect(result.emailsDueBySql, 'emails of plain SQL').to.be.above(0);
    });

    it('breaks none of the invariants', () => {
      const broken = result.verdicts.filter(({ breaches }) => breaches.length > 0);
      expect(broken, `${verdictLines(result.verdicts)}\n${windowTable(result.rows)}`).to.deep.equal([]);
    });

    it('ends no process except those killed', () => {
      expect(result.complaints, result.complaints.join('\n')).to.deep.equal([]);
    });
  });
}
