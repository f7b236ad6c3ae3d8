import { DIRECTUS_TOKEN } from '../support/directus.js';
import { runClosedLoad, type Sustained } from './closedLoad.js';
import { startDirectusFlow } from './directusFlow.js';
import type { Findings } from './findings.js';
import { mutateDirectus, mutateRowpost } from './mutations.js';
import type { Backend, Options } from './options.js';
import { cpuSeconds, postgresCpuSeconds } from './processFigures.js';
import { withSite, type Running, type Site } from './site.js';

const CONNECTIONS = 16;
const WARM_UP_SECONDS = 8;
const MAX_BEHIND = 400;

/** End to end: mutations by HTTP as fast as their emails keep up, against a Directus flow that does the same. */
export async function sustained({ seconds, backends }: Options, findings: Findings): Promise<void> {
  const load = {
    connections: CONNECTIONS,
    warmUpSeconds: WARM_UP_SECONDS,
    seconds,
    maxBehind: MAX_BEHIND,
  };
  const rates = new Map<Backend, number>();
  for (const backend of backends ?? (['redis', 'postgres'] as const)) {
    await withSite(async (site) => {
      const running = await site.startAll(backend);
      const mutator = mutateRowpost(running.baseUrl, site.shop, CONNECTIONS);
      const before = await readCpu(site, running);
      const result = await runClosedLoad(mutator, site.carrier, load);
      const after = await readCpu(site, running);
      mutator.close();
      rates.set(backend, result.emailsPerSecond);
      findings.note(`Rowpost on ${backend}: ${shown(result)}`);
      findings.note(describeCpu(before, after, result.emails));
    });
  }
  await withSite(async (site) => {
    const directus = await startDirectusFlow(site);
    try {
      const mutator = mutateDirectus(directus.url, DIRECTUS_TOKEN, CONNECTIONS);
      const result = await runClosedLoad(mutator, site.carrier, load);
      mutator.close();
      findings.note(`Directus flow: ${shown(result)}`);
      for (const [backend, rate] of rates) {
        findings.bar(`sustained, ${backend}: Rowpost ÷ Directus flow`, rate / result.emailsPerSecond, {
          atLeast: 5,
        });
      }
    } finally {
      await directus.stop();
    }
  });
}

/** Seconds of CPU that each part has taken. */
export async function readCpu(site: Site, { web, relay, worker }: Running): Promise<Record<string, number>> {
  return {
    web: await cpuSeconds(web.child.pid ?? 0),
    relay: await cpuSeconds(relay.child.pid ?? 0),
    worker: await cpuSeconds(worker.child.pid ?? 0),
    Redis: await cpuSeconds(site.redis.pid),
    PostgreSQL: await postgresCpuSeconds(site.installation.databaseUrl),
  };
}

export function describeCpu(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  emails: number,
): string {
  const cpu = Object.entries(after).map(([name, seconds]) => {
    const used = seconds - (before[name] ?? 0);
    return `${name} ${((used * 1000) / emails).toFixed(2)} ms`;
  });
  return `CPU an email: ${cpu.join(', ')}`;
}

function shown({ emailsPerSecond, mutationsPerSecond, maxBehind }: Sustained): string {
  return `${emailsPerSecond.toFixed(0)} emails/s, ${mutationsPerSecond.toFixed(0)} mutations/s, at most ${maxBehind} behind`;
}
