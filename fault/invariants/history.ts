import type { AttemptRow } from '../rig/ledger.js';
import type { Invariant } from './invariant.js';

/** Outcomes that count as no failure. */
const WITHOUT_ERROR = new Set(['sent', 'redriven']);

export const historyMonotone: Invariant = {
  name: '6 attempts are monotone, each with outcome, time and error class',
  breaches: ({ accounts }) =>
    [...accounts.attempts].flatMap(([deliveryid, attempts]) => {
      const starts = accounts.deliveries.get(deliveryid)?.starts ?? 0;
      const problems = attempts.flatMap((attempt, index) => problemsOf(attempt, attempts[index - 1], starts));
      return problems.map((problem) => `delivery ${deliveryid}: ${problem}`);
    }),
};

function problemsOf(attempt: AttemptRow, before: AttemptRow | undefined, starts: number): readonly string[] {
  const { attempt: number, startedAtMs, finishedAtMs, outcome, error } = attempt;
  const problems: string[] = [];
  if (number > starts) problems.push(`attempt ${number} of ${starts}`);
  if (finishedAtMs < startedAtMs) problems.push(`attempt ${number} ended before it began`);
  if (before && startedAtMs < before.startedAtMs)
    problems.push(`attempt ${number} began before the one before it`);
  if (!WITHOUT_ERROR.has(outcome) && (error ?? '') === '')
    problems.push(`attempt ${number}: ${outcome}, no reason`);
  return problems;
}

export const endingsFinal: Invariant = {
  name: "7 terminal states don't change",
  breaches: ({ witness }) => witness.changedEndings.map((change) => `delivery ${change}`),
};
