import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { findFreePort } from '../../src/embedded/freePort.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import { waitFor } from '../../test/support/waitFor.js';

const RULES = fileURLToPath(new URL('../../deploy/prometheus/rowpost.rules.yml', import.meta.url));
/** As the rules ask for. */
const SCRAPE_INTERVAL = '15s';

/** A Prometheus that scrapes an installation and evaluates the rules that are shipped. */
export interface Prometheus {
  /** Names of the alerts that fire now. */
  readonly firing: () => Promise<readonly string[]>;
  stop(): Promise<void>;
}

export function hasPrometheus(): boolean {
  return spawnSync('prometheus', ['--version']).status === 0;
}

/** @param targets ports by the name of the process */
export async function startPrometheus(targets: Readonly<Record<string, number>>): Promise<Prometheus> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-prometheus-'));
  const config = path.join(folder, 'prometheus.yml');
  await writeFile(
    config,
    stringify({
      global: {
        scrape_interval: SCRAPE_INTERVAL,
        scrape_timeout: '5s',
        evaluation_interval: SCRAPE_INTERVAL,
      },
      rule_files: [RULES],
      scrape_configs: [
        {
          job_name: 'rowpost',
          static_configs: Object.entries(targets).map(([instance, port]) => ({
            targets: [`127.0.0.1:${port}`],
            labels: { instance },
          })),
        },
      ],
    }),
  );
  const address = `127.0.0.1:${await findFreePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  );
  const callOff = child.pid === undefined ? () => undefined : watchOver(child.pid, [folder]);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await waitFor('Prometheus', async () => (await fetch(`http://${address}/-/ready`)).ok, {
    timeoutMs: 30_000,
    intervalMs: 100,
  });
  return {
    async firing() {
      const response = await fetch(`http://${address}/api/v1/alerts`);
      const { data } = (await response.json()) as {
        data: { alerts: readonly { state: string; labels: { alertname: string } }[] };
      };
      const names = data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => labels.alertname);
      return [...new Set(names)].sort();
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
      callOff();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
