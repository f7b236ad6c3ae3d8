import { expect } from 'chai';
import type { HistoryRow } from '../../../fault/history/report.js';
import { runHistory } from '../../../fault/historyRun.js';
import type { RunResult } from '../../../fault/checkedRun.js';
import type { Backend } from '../../../fault/markers.js';
import { historyTable, verdictLines } from '../../../fault/report/print.js';

const MUTATIONS_PER_SECOND = 8;

/** The short form of `npm run fault -- --only history`. */
for (const backend of ['redis', 'postgres'] satisfies readonly Backend[]) {
  describe(`PostgreSQL goes back in time, with the queue in ${backend}`, function () {
    let result: RunResult<HistoryRow>;

    before(async () => {
      const say = (): void => undefined;
      result = await runHistory({
        backend,
        kills: 2,
        seconds: 2,
        minutes: undefined,
        rate: MUTATIONS_PER_SECOND,
        say,
      });
    });

    it('through a restored backup and a lagging standby, and delivers everything it still holds', () => {
      expect(result.rows.map(({ way, strikes, lost }) => [way, strikes, lost])).to.deep.equal([
        ['restored', 1, 0],
        ['promoted', 1, 0],
      ]);
    });

    it('breaks none of the invariants', () => {
      const broken = result.verdicts.filter(({ breaches }) => breaches.length > 0);
      expect(broken, `${verdictLines(result.verdicts)}\n${historyTable(result.rows)}`).to.deep.equal([]);
    });

    it('ends no process', () => {
      expect(result.complaints, result.complaints.join('\n')).to.deep.equal([]);
    });
  });
}
