import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { KeyRing } from '../../src/config/secrets.js';
import type { Site } from './site.js';

/** Something that an operator is to be told of. */
export interface Outage {
  readonly name: string;
  /** Any of these pages is right. */
  readonly alerts: readonly string[];
  /** A line of the doctor. */
  readonly doctor: RegExp;
  /** For the doctor, where it is the settings that are wrong. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether it needs the rights to mount a file system. */
  readonly mounts?: true;
  /** @returns what ends it */
  begin(site: Site): Promise<() => Promise<void>>;
}

const CLOCK_OFF_MS = 60_000;
const SHIFTED_CLOCK = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `const now = Date.now; Date.now = () => now() + ${CLOCK_OFF_MS};`,
  )}`,
};
const OTHER_KEYS = { SECRET_KEYS: KeyRing.generateEntry('other') };

function gone(part: 'worker' | 'relay', alert: string, doctor: RegExp): Outage {
  return {
    name: `${part} gone`,
    alerts: [alert],
    doctor,
    async begin(site) {
      await site.kill(part);
      return () => site.start(part);
    },
  };
}

function providerResponses(status: number, alert: string, doctor: RegExp): Outage {
  return {
    name: `carrier responds ${status}`,
    alerts: [alert],
    doctor,
    begin(site) {
      site.carrier.status = status;
      return Promise.resolve(async () => {
        site.carrier.status = 202;
        // Resumes what a refused one has paused.
        await site.setKey();
      });
    },
  };
}

export const OUTAGES: readonly Outage[] = [
  gone('worker', 'RowpostBatchesWaiting', /^✗ backlog .*batches of events wait/m),
  gone('relay', 'RowpostEventsUnread', /^✗ backlog .*events are not read/m),
  {
    name: 'Redis gone',
    alerts: ['RowpostQueueAway'],
    doctor: /^✗ queue .*can't be reached/m,
    async begin(site) {
      await site.killRedis();
      return () => site.startRedis();
    },
  },
  {
    name: 'PostgreSQL read-only',
    alerts: ['RowpostPostgresReadOnly'],
    doctor: /^✗ postgres .*read-only/m,
    async begin(site) {
      await site.sql('alter system set default_transaction_read_only = on', 'select pg_reload_conf()');
      return () =>
        site.sql(
          'set default_transaction_read_only = off',
          'alter system reset default_transaction_read_only',
          'select pg_reload_conf()',
        );
    },
  },
  providerResponses(500, 'RowpostCarrierFailing', /^✗ carrier .*500/m),
  {
    name: 'clock off',
    alerts: ['RowpostClockOff'],
    doctor: /^✗ clock /m,
    settings: SHIFTED_CLOCK,
    async begin(site) {
      await site.kill('worker');
      await site.start('worker', SHIFTED_CLOCK);
      return () => restart(site, 'worker');
    },
  },
  {
    name: 'disk full',
    alerts: ['RowpostRelayFailing', 'RowpostPostgresAway', 'RowpostRequestsFailing'],
    doctor: /^✗ (?:postgres|storage|backlog) /m,
    mounts: true,
    begin: fillDisk,
  },
  {
    name: 'a migration missing',
    alerts: ['RowpostProcessDown'],
    doctor: /^✗ migrations .*lacks 1 of them/m,
    async begin(site) {
      // As when the new version is started before its release.
      const newest = 'select max(id) from rowpost.migration';
      await site.sql(
        'create table public.taken_out as table rowpost.migration',
        `delete from rowpost.migration where id = (${newest})`,
      );
      await site.kill('worker');
      site.launch('worker', {});
      return async () => {
        await site.sql(
          'insert into rowpost.migration select * from public.taken_out on conflict do nothing',
          'drop table public.taken_out',
        );
        await restart(site, 'worker');
      };
    },
  },
  {
    name: 'a key missing',
    alerts: ['RowpostBatchesWaiting', 'RowpostDeliveriesWaiting', 'RowpostProcessDown'],
    doctor: /^✗ secrets .*don't decrypt/m,
    settings: OTHER_KEYS,
    async begin(site) {
      await site.kill('worker');
      site.launch('worker', OTHER_KEYS);
      return () => restart(site, 'worker');
    },
  },
  {
    name: "a tenant's role missing",
    alerts: ['RowpostTenantsLost'],
    doctor: /^✗ roles /m,
    async begin(site) {
      const role = `(select rolname from pg_roles where rolname ~ '_tenant_${site.tenantid}$')`;
      await site.sql(`do $$ declare r text := ${role}; begin
        execute format('reassign owned by %I to %I', r, '${new URL(site.cluster.url).username}');
        execute format('drop owned by %I', r);
        execute format('drop role %I', r);
      end $$`);
      return () => site.release();
    },
  },
  providerResponses(401, 'RowpostAccountsRefused', /^✗ (?:keys|carrier) /m),
];

async function restart(site: Site, part: 'worker'): Promise<void> {
  await site.kill(part);
  await site.start(part);
}

const SPARE_MB = 24;

/** Puts PostgreSQL's data on a file system with little space left, and uses that up. */
async function fillDisk({ cluster }: Site): Promise<() => Promise<void>> {
  const mount = await mkdtemp(path.join(os.tmpdir(), 'rowpost-disk-'));
  await cluster.stop();
  const megabytes = Number(execFileSync('du', ['-sm', cluster.data], { encoding: 'utf8' }).split('\t')[0]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes + SPARE_MB}m`, 'tmpfs', mount]);
  execFileSync('cp', ['-a', `${cluster.data}/.`, mount]);
  execFileSync('mount', ['--bind', mount, cluster.data]);
  await cluster.start();
  await writeFile(path.join(mount, 'filler'), Buffer.alloc(SPARE_MB * 2 ** 20)).catch(() => undefined);
  return async () => {
    await rm(path.join(mount, 'filler'));
    await cluster.stop();
    await rm(path.join(mount, 'postmaster.pid'), { force: true });
    execFileSync('umount', [cluster.data]);
    execFileSync('sh', ['-c', 'rm -rf "$2"/* && cp -a "$1"/. "$2"', 'sh', mount, cluster.data]);
    execFileSync('umount', [mount]);
    await rm(mount, { recursive: true });
    await cluster.start();
  };
}
