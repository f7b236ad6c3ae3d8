import type { FaultRow } from '../analysis/faultReport.js';
import type { WindowRow } from '../analysis/windowReport.js';
import type { FailoverRow } from '../failover/report.js';
import type { HistoryRow } from '../history/report.js';
import type { Verdict } from '../invariants/index.js';
import { seconds, table } from './table.js';

const MAX_BREACHES = 20;

export function windowTable(rows: readonly WindowRow[]): string {
  return table(
    [
      'window',
      'what',
      'kills',
      'committed',
      'lost',
      'duplicates',
      'accounted',
      'moves again p50',
      'p99',
      'max',
      'sent max',
    ],
    rows.map((row) => [
      row.window,
      row.what,
      row.kills,
      row.committed,
      row.lost,
      row.duplicates,
      row.accounted,
      seconds(row.recoveryMs?.p50),
      seconds(row.recoveryMs?.p99),
      seconds(row.recoveryMs?.max),
      seconds(row.settledMaxMs),
    ]),
  );
}

export function faultTable(rows: readonly FaultRow[]): string {
  return table(
    [
      'fault',
      'what',
      'lasted',
      'events',
      'lost',
      'duplicates',
      'accounted',
      'exits',
      'emails/s before',
      'after',
      'after/before',
      'recovery',
    ],
    rows.map((row) => [
      row.fault,
      row.what,
      `${row.seconds.toFixed(1)} s`,
      row.events,
      row.lost,
      row.duplicates,
      row.accounted,
      row.exits,
      row.rateBefore.toFixed(1),
      row.rateAfter.toFixed(1),
      (row.rateAfter / row.rateBefore).toFixed(3),
      seconds(row.recoveryMs),
    ]),
  );
}

export function historyTable(rows: readonly HistoryRow[]): string {
  return table(
    [
      'PostgreSQL',
      'strikes',
      'back',
      'lost',
      'duplicates on record',
      'without',
      'of lost orders',
      'recovery p50',
      'max',
    ],
    rows.map((row) => [
      row.way,
      row.strikes,
      `${seconds(row.backMs.min)} to ${seconds(row.backMs.max)}`,
      row.lost,
      row.duplicates,
      row.withoutRecord,
      row.gone,
      seconds(row.recoveryMs.p50),
      seconds(row.recoveryMs.max),
    ]),
  );
}

export function failoverTable(rows: readonly FailoverRow[]): string {
  return table(
    [
      'server',
      'failovers',
      'lost',
      'duplicates',
      'accounted',
      'responds meanwhile',
      'replaced after p50',
      'max',
      'writes again p50',
      'p90',
      'max',
      'emails again p50',
      'p90',
      'max',
      'all sent max',
    ],
    rows.map((row) => [
      row.way,
      row.failovers,
      row.lost,
      row.duplicates,
      row.accounted,
      Object.entries(row.responses)
        .map(([response, count]) => `${count} × ${response}`)
        .join(', '),
      seconds(row.vacantMs.p50),
      seconds(row.vacantMs.max),
      seconds(row.writesMs.p50),
      seconds(row.writesMs.p90),
      seconds(row.writesMs.max),
      seconds(row.emailsMs.p50),
      seconds(row.emailsMs.p90),
      seconds(row.emailsMs.max),
      seconds(row.recoveryMs.max),
    ]),
  );
}

/** The broken ones first: a summary of failed tests shows the first line only. */
export function verdictLines(verdicts: readonly Verdict[]): string {
  const broken = verdicts.flatMap(({ invariant, breaches }) => [
    ...breaches.slice(0, MAX_BREACHES).map((breach) => `BROKEN  ${invariant}: ${breach}`),
    ...(breaches.length > MAX_BREACHES ? [`          … ${breaches.length - MAX_BREACHES} more`] : []),
  ]);
  const holding = verdicts.filter(({ breaches }) => breaches.length === 0);
  return [...broken, ...holding.map(({ invariant }) => `holds   ${invariant}`)].join('\n');
}
