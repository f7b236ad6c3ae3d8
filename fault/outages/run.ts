// npm run outages: outages of a real installation, determined by the alert rules that are shipped, in a real Prometheus, and the doctor.
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { endRun } from '../../test/support/teardown.js';
import { table } from '../report/table.js';
import { OUTAGES, type Outage } from './outages.js';
import { hasPrometheus, startPrometheus, type Prometheus } from './prometheus.js';
import { openSite, type Site } from './site.js';

const USAGE = `npm run outages -- [options]
  --only <name>     run only this outage, such as "Redis gone"; repeatable
  --minutes <n>     ordinary load before the outages, in which no alert may fire (default 3)`;
const HEADER = ['outage', 'alerts', 'after', 'doctor', 'after', 'cleared after'];
const ORDERS_PER_SECOND = 10;
const BAR_SECONDS = 90;
const LOOK_EVERY_MS = 1_000;
/** Windows of a minute have to pass, and retries to be made. */
const RECOVERY_SECONDS = 300;

interface Verdict {
  readonly outage: string;
  readonly alert: string;
  readonly alertSeconds: number | undefined;
  readonly doctor: string;
  readonly doctorSeconds: number | undefined;
  readonly clearedSeconds: number | undefined;
}

// Child processes would outlive a signal.
let stopSite = (): Promise<void> => Promise.resolve();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stopSite().finally(() => process.exit(1)));
process.setMaxListeners(0);
const { only, minutes } = optionsOrExit();
if (!hasPrometheus()) {
  console.error('prometheus is not installed: it comes with Debian’s package of this name');
  process.exit(2);
}
const site = await openSite(ORDERS_PER_SECOND);
stopSite = () => site.stop();
const prometheus = await startPrometheus(site.ports);
let broken = 0;
try {
  const rang = await ordinaryLoad(prometheus, minutes);
  console.log(`ordinary load for ${minutes} min: ${rang.length === 0 ? 'no alert' : rang.join(', ')}`);
  broken += rang.length;
  const verdicts: Verdict[] = [];
  for (const outage of OUTAGES.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const verdict = await drill(site, prometheus, outage);
    console.log(JSON.stringify(verdict));
    if (verdict.alertSeconds === undefined || verdict.doctorSeconds === undefined) broken += 1;
    verdicts.push(verdict);
  }
  console.log(`\n${table(HEADER, rowsOf(verdicts))}`);
} finally {
  await prometheus.stop();
  await site.stop();
  await endRun();
}
process.exit(broken === 0 ? 0 : 1);

async function ordinaryLoad({ firing }: Prometheus, forMinutes: number): Promise<readonly string[]> {
  const untilMs = Date.now() + forMinutes * 60_000;
  const seen = new Set<string>();
  while (Date.now() < untilMs) {
    for (const name of await firing()) seen.add(name);
    await delay(LOOK_EVERY_MS);
  }
  return [...seen];
}

async function drill({ doctor }: Site, { firing }: Prometheus, outage: Outage): Promise<Verdict> {
  const end = await outage.begin(site);
  const startedAtMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAtMs) / 1000);
  const [alerted, said] = await Promise.all([
    look(BAR_SECONDS, async () => {
      const names = await firing();
      return outage.alerts.some((name) => names.includes(name)) ? names.join(', ') : undefined;
    }),
    look(BAR_SECONDS, async () => outage.doctor.exec(await lineOf(doctor, outage))?.input),
  ]);
  const recoveredFrom = seconds();
  await end();
  const cleared = await look(RECOVERY_SECONDS, async () =>
    (await firing()).length === 0 ? 'cleared' : undefined,
  );
  return {
    outage: outage.name,
    alert: alerted?.found ?? 'none',
    alertSeconds: alerted?.seconds,
    doctor: said?.found ?? 'green',
    doctorSeconds: said?.seconds,
    clearedSeconds: cleared && seconds() - recoveredFrom,
  };
}

/** The line of the doctor that the outage is about, or all that are crossed. */
async function lineOf(doctor: Site['doctor'], outage: Outage): Promise<string> {
  const lines = (await doctor(outage.settings)).split('\n').filter((line) => line.startsWith('✗'));
  return lines.find((line) => outage.doctor.test(line)) ?? lines.join('\n');
}

async function look(
  forSeconds: number,
  probe: () => Promise<string | undefined>,
): Promise<{ readonly found: string; readonly seconds: number } | undefined> {
  const startedAtMs = performance.now();
  for (;;) {
    const found = await probe();
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    if (seconds > forSeconds) return undefined;
    if (found !== undefined) return { found, seconds };
    await delay(LOOK_EVERY_MS);
  }
}

function rowsOf(verdicts: readonly Verdict[]): string[][] {
  const of = (seconds: number | undefined): string => (seconds === undefined ? 'never' : `${seconds} s`);
  return verdicts.map((one) => [
    one.outage,
    one.alert,
    of(one.alertSeconds),
    one.doctor,
    of(one.doctorSeconds),
    of(one.clearedSeconds),
  ]);
}

function optionsOrExit(): { readonly only: readonly string[]; readonly minutes: number } {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', multiple: true, default: [] },
        minutes: { type: 'string', default: '3' },
      },
    });
    const unknown = values.only.find((name) => !OUTAGES.some((outage) => outage.name === name));
    if (unknown !== undefined)
      throw new Error(`--only ${unknown}: there are ${OUTAGES.map(({ name }) => name).join(', ')}`);
    return { only: values.only, minutes: Number(values.minutes) };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}
