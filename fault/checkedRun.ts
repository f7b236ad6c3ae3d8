import { readAccounts, type Accounts } from './analysis/accounts.js';
import { findDuplicates, type Duplicate } from './analysis/duplicates.js';
import { check, type Verdict } from './invariants/index.js';
import type { Backend } from './markers.js';
import { cpuSecondsWithChildren } from './rig/cpu.js';
import { createRig, GRACE_MS, type Rig, type RigOptions } from './rig/rig.js';
import { settle } from './rig/settle.js';
import { startWitness } from './rig/witness.js';

/** The result of a run, whatever faults it had. */
export interface RunResult<Row> {
  readonly backend: Backend;
  readonly rows: readonly Row[];
  readonly verdicts: readonly Verdict[];
  /** Problems that no invariant covers: late exits, processes that exited on their own. */
  readonly complaints: readonly string[];
  readonly emailsDue: number;
  /** Of these, emails of orders written by plain SQL. */
  readonly emailsDueBySql: number;
  readonly emailsAccepted: number;
  readonly seconds: number;
  /** Of all processes: the product's, PostgreSQL, Redis, the carrier and this one. */
  readonly cpuSeconds: number;
}

export interface RunOptions<Row> extends RigOptions {
  /**
   * Injects the faults while the load runs.
   * @returns a function that makes the table's rows from the accounts
   */
  readonly disturb: (
    rig: Rig,
  ) => Promise<(accounts: Accounts, duplicates: readonly Duplicate[]) => readonly Row[]>;
  /** Mutations per second. */
  readonly rate: number;
  /** Whether the run compares its rates with one another. */
  readonly exactRate?: true;
  readonly say: (line: string) => void;
}

/** Longest wait for the last emails after the load has stopped. */
const SETTLE_MS = 90_000;

/** Sets up an installation, injects faults under load, waits for it to settle, and compares all accounts. */
export async function runChecked<Row>(options: RunOptions<Row>): Promise<RunResult<Row>> {
  const before = cpuSecondsWithChildren();
  const result = await runAndCheck(options);
  return { ...result, cpuSeconds: Math.round(cpuSecondsWithChildren() - before) };
}

async function runAndCheck<Row>(options: RunOptions<Row>): Promise<Omit<RunResult<Row>, 'cpuSeconds'>> {
  const { backend, disturb, rate, say, strength } = options;
  const startedAtMs = Date.now();
  const seconds = (): number => Math.round((Date.now() - startedAtMs) / 1000);
  const rig = await createRig(options);
  try {
    say(
      `${backend}: ${strength.web} web, ${strength.relay} relay and ${strength.worker} worker processes are up`,
    );
    const witness = startWitness(rig);
    rig.load.start(rate, options.exactRate === true);
    const makeRows = await disturb(rig);
    await rig.load.stop();
    say(`all done after ${seconds()} s; waiting for the last emails`);
    await settle(rig, SETTLE_MS);
    await witness.stop();
    await rig.fleet.stop(GRACE_MS * 2);
    const accounts = await readAccounts(rig);
    const duplicates = findDuplicates(accounts, rig);
    return {
      backend,
      rows: makeRows(accounts, duplicates),
      verdicts: await check({ rig, accounts, duplicates, witness }),
      complaints: complaintsOf(rig),
      emailsDue: accounts.expected.length,
      emailsDueBySql: accounts.expected.filter(({ order }) => order.writer === 'sql').length,
      emailsAccepted: [...accounts.accepted.values()].flat().length,
      seconds: seconds(),
    };
  } finally {
    await rig.stop();
  }
}

function complaintsOf({ complaints, fleet }: Rig): readonly string[] {
  const exits = fleet.unexpectedExits.map(
    ({ name, code, signal, lastWords }) =>
      `${name} ended by itself (${String(code ?? signal)}):\n${lastWords}`,
  );
  return [...complaints, ...exits, ...fleet.failedStarts.map(({ message }) => message)];
}

/** Whether everything held. */
export function isSound({ complaints, verdicts }: RunResult<unknown>): boolean {
  return complaints.length === 0 && verdicts.every(({ breaches }) => breaches.length === 0);
}
