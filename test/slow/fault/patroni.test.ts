import { expect } from 'chai';
import type { FailoverRow } from '../../../fault/failover/report.js';
import type { RunResult } from '../../../fault/checkedRun.js';
import { runPatroni } from '../../../fault/patroniRun.js';
import { failoverTable, verdictLines } from '../../../fault/report/print.js';

const MUTATIONS_PER_SECOND = 10;

/** The short form of `npm run fault -- --only patroni`, on request: it takes a minute, and Debian's packages. */
if (process.env['PATRONI'] === '1')
  describe('Patroni replaces the leader under load', function () {
    let result: RunResult<FailoverRow>;

    before(async () => {
      const say = (): void => undefined;
      result = await runPatroni({
        backend: 'redis',
        route: 'haproxy',
        kills: 2,
        ways: ['leader killed', 'leader switched over'],
        minutes: undefined,
        rate: MUTATIONS_PER_SECOND,
        say,
      });
    });

    it('nothing is lost, and every duplicate is on record', () => {
      expect(result.rows.map(({ way, failovers, lost }) => [way, failovers, lost])).to.deep.equal([
        ['leader killed', 1, 0],
        ['leader switched over', 1, 0],
      ]);
      for (const { duplicates, accounted } of result.rows) expect(accounted).to.equal(duplicates);
    });

    it('breaks none of the invariants', () => {
      const broken = result.verdicts.filter(({ breaches }) => breaches.length > 0);
      expect(broken, `${verdictLines(result.verdicts)}\n${failoverTable(result.rows)}`).to.deep.equal([]);
    });

    it('writes and emails go on within ten seconds of the promotion, and no process ends', () => {
      expect(result.complaints, result.complaints.join('\n')).to.deep.equal([]);
    });
  });
