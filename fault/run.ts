// npm run fault: kills the built processes at every critical moment and takes away their dependencies, under load,
// then accounts for every email.
import { writeFile } from 'node:fs/promises';
import { describeMachine } from '../bench/support/report.js';
import { runFaults } from './faultsRun.js';
import { runFailovers } from './failoverRun.js';
import { runHistory } from './historyRun.js';
import { isSound, type RunResult } from './checkedRun.js';
import { runPatroni } from './patroniRun.js';
import { readOptions, USAGE } from './options.js';
import { failoverTable, faultTable, historyTable, verdictLines, windowTable } from './report/print.js';
import { runMoves, STRIKES } from './movesRun.js';
import { runWindows } from './windowsRun.js';

// Child processes are cleaned up on exit, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
// Each running child process adds a listener.
process.setMaxListeners(0);

const options = optionsOrExit();
const say = (line: string): void => console.log(line);
const results: RunResult<unknown>[] = [];
say(describeMachine());
if (options.only === 'moves') process.exit((await moveTenants()) ? 0 : 1);
for (const backend of options.backends) {
  if (options.only === undefined || options.only === 'windows') {
    const result = await runWindows({ ...options, backend, only: options.windows, say });
    print(result, windowTable(result.rows));
  }
  if (options.only === undefined || options.only === 'faults') {
    const result = await runFaults({ ...options, backend, say });
    print(result, faultTable(result.rows));
  }
  if (options.only === undefined || options.only === 'history') {
    const result = await runHistory({ ...options, backend, say });
    print(result, historyTable(result.rows));
  }
  if (options.only === undefined || options.only === 'failover') {
    const result = await runFailovers({ ...options, backend, say });
    print(result, failoverTable(result.rows));
  }
  if (options.only === 'patroni') {
    for (const route of options.routes) {
      const result = await runPatroni({ ...options, backend, route, say });
      print(result, failoverTable(result.rows));
    }
  }
}
if (options.json !== undefined) await writeFile(options.json, JSON.stringify(results, null, 2));
process.exit(results.every(isSound) ? 0 : 1);

function print(result: RunResult<unknown>, rows: string): void {
  results.push(result);
  const { backend, emailsDue, emailsDueBySql, emailsAccepted, seconds, cpuSeconds, verdicts, complaints } =
    result;
  const emails = `${emailsDue} emails due (${emailsDueBySql} by plain SQL), ${emailsAccepted} accepted`;
  say(`\nQueue in ${backend}: ${emails}, ${seconds} s, ${cpuSeconds} s of CPU\n`);
  say(`${rows}\n\n${verdictLines(verdicts)}`);
  for (const complaint of complaints) say(`BROKEN  ${complaint}`);
  say('');
}

/** @returns whether nothing was lost, sent twice or wrong */
async function moveTenants(): Promise<boolean> {
  const result = await runMoves({ ...options, strikes: STRIKES, killSeconds: options.seconds, say });
  const { moves, orders, emails, lost, double, duplicates, wrong, pausesMs, closedMs, otherRate } = result;
  const at = (times: readonly number[], share: number): string =>
    String(times[Math.ceil(times.length * share) - 1] ?? 'none');
  say(`\n${moves.length} moves, ${moves.filter(({ end }) => end === 'aborted').length} of them aborted`);
  say(
    `${orders} orders, ${emails} emails; ${lost.length} lost, ${double.length} double, ${wrong.length} wrong; ${duplicates} sent again, on record as ambiguous`,
  );
  for (const [what, times] of [
    ['writes refused', pausesMs],
    ['closed', closedMs],
  ] as const) {
    say(`${what} in ${times.length} undisturbed moves: p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms`);
  }
  say(`a cell killed: the other took ${Math.round(100 * (otherRate ?? 0))} % of its orders`);
  const complaints = [...lost, ...double, ...wrong];
  for (const complaint of complaints.slice(0, 20)) say(`BROKEN  ${complaint}`);
  return complaints.length === 0;
}

function optionsOrExit() {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}
