import { expect } from 'chai';
import type { FailoverRow } from '../../../fault/failover/report.js';
import { runFailovers } from '../../../fault/failoverRun.js';
import type { RunResult } from '../../../fault/checkedRun.js';
import { failoverTable, verdictLines } from '../../../fault/report/print.js';

const MUTATIONS_PER_SECOND = 10;
const MAX_MS = 10_000;

/** The short form of `npm run fault -- --only failover`, with the queue in PostgreSQL, which fails over as well. */
describe('the primary is replaced by its synchronous standby under load', function () {
  let result: RunResult<FailoverRow>;

  before(async () => {
    const say = (): void => undefined;
    result = await runFailovers({
      backend: 'postgres',
      kills: 2,
      ways: ['killed', 'switched over'],
      minutes: undefined,
      rate: MUTATIONS_PER_SECOND,
      say,
    });
  });

  it('nothing is lost, and every duplicate is recorded', () => {
    expect(result.rows.map(({ way, failovers, lost }) => [way, failovers, lost])).to.deep.equal([
      ['killed', 1, 0],
      ['switched over', 1, 0],
    ]);
    for (const { duplicates, accounted } of result.rows) expect(accounted).to.equal(duplicates);
  });

  it('writes and emails go on within ten seconds of the promotion', () => {
    for (const { writesMs, emailsMs, way } of result.rows) {
      expect(writesMs.max, way).to.be.below(MAX_MS);
      expect(emailsMs.max, way).to.be.below(MAX_MS);
    }
  });

  it('clients of a planned switchover meet a pause, or 503 with Retry-After', () => {
    const planned = result.rows.find(({ way }) => way === 'switched over');
    expect(
      Object.keys(planned?.responses ?? {}).filter((response) => response !== '503 DATABASE_UNAVAILABLE'),
    ).to.deep.equal([]);
    expect(planned?.withoutRetryAfter).to.equal(0);
  });

  it('breaks none of the invariants', () => {
    const broken = result.verdicts.filter(({ breaches }) => breaches.length > 0);
    expect(broken, `${verdictLines(result.verdicts)}\n${failoverTable(result.rows)}`).to.deep.equal([]);
  });

  it('ends no process', () => {
    expect(result.complaints, result.complaints.join('\n')).to.deep.equal([]);
  });
});
