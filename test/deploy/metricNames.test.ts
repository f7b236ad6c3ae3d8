import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { Pool } from 'pg';
import { Registry } from 'prom-client';
import { HttpMetrics } from '../../src/api/http/metrics.js';
import { EmailEventMetrics } from '../../src/api/webhooks/emailEventMetrics.js';
import { registerBacklogMetrics } from '../../src/health/backlogMetrics.js';
import { registerPoolMetrics } from '../../src/health/poolMetrics.js';
import { registerPostgresMetrics } from '../../src/health/postgresMetrics.js';
import { collectProcessMetrics, processRegistry } from '../../src/foundation/observability/metrics.js';
import { expectDocumentedTable } from '../support/documentedTable.js';
import { testLog } from '../support/testConfig.js';

const RULES = 'deploy/prometheus/rowpost.rules.yml';
const RULES_TEST = 'deploy/prometheus/rowpost.rules.test.yml';
const DASHBOARD = 'deploy/grafana/rowpost.json';

/** Prometheus itself knows `up`; the others come with Node.js. */
const METRIC = /\b(?:rowpost|process|nodejs)_[a-z0-9_]+/g;

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}

/** It comes with Debian's package `prometheus`. */
function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}

type Metric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

/** All that any process has at /metrics. */
async function registered(): Promise<ReadonlyMap<string, Metric>> {
  collectProcessMetrics();
  const http = new HttpMetrics();
  const registry = new Registry();
  registerBacklogMetrics(registry, () => Promise.resolve(undefined));
  registerPoolMetrics(registry, { poolUse: () => [], replicas: { lags: () => [] } });
  registerPostgresMetrics(registry, { pool: new Pool() }, testLog);
  new EmailEventMetrics(registry);
  const all = await Promise.all(
    [processRegistry, http.registry, registry].map((one) => one.getMetricsAsJSON()),
  );
  return new Map(all.flat().map((metric) => [metric.name, metric]));
}

describe('deployment files', () => {
  for (const [file, text] of [
    [RULES, read(RULES)],
    [RULES_TEST, read(RULES_TEST)],
    [DASHBOARD, read(DASHBOARD)],
    [
      'docs/reference/metrics-and-alerts.md',
      [...read('docs/reference/metrics-and-alerts.md').matchAll(/`(rowpost_[a-z_]+)`/g)].join(' '),
    ],
  ] as const) {
    it(`${file} refers to existing metrics only`, async () => {
      const names = await registered();
      const used = new Set(
        [...text.matchAll(METRIC)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')),
      );
      expect(used.size).to.be.above(5);
      expect([...used].filter((name) => !names.has(name))).to.deep.equal([]);
    });
  }

  it('every metric is on the dashboard', async () => {
    const shown = read(DASHBOARD);
    const ours = [...(await registered()).keys()].filter((name) => name.startsWith('rowpost_'));
    expect(ours.filter((name) => !shown.includes(name))).to.deep.equal([]);
  });

  it('every metric is in docs/reference/metrics-and-alerts.md (UPDATE_DOCS=1 writes them)', async () => {
    const ours = [...(await registered()).values()]
      .filter(({ name }) => name.startsWith('rowpost_'))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const rows = ours.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
    const head = '| Metric | Type | Meaning |\n| --- | --- | --- |';
    expectDocumentedTable('metrics', [head, ...rows].join('\n'));
  });

  it('every alert is in docs/reference/metrics-and-alerts.md, leads there, and has a test', () => {
    const alerts = [...read(RULES).matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
    expect(alerts).to.have.lengthOf.above(10);
    const [docs, tests] = [read('docs/reference/metrics-and-alerts.md'), read(RULES_TEST)];
    expect(alerts.filter((name) => !docs.includes(`\`${name}\``))).to.deep.equal([]);
    expect(alerts.filter((name) => !tests.includes(`alertname: ${name}`))).to.deep.equal([]);
    expect(read(RULES).match(/runbook: docs\/reference\/metrics-and-alerts\.md#alerts\n/g)).to.have.lengthOf(
      alerts.length,
    );
    expect(docs).to.include('\n## Alerts\n');
  });

  if (hasPromtool()) {
    it('the rules fire in outages and not in a normal hour (promtool)', () => {
      execFileSync('promtool', ['check', 'rules', RULES], { stdio: 'pipe' });
      execFileSync('promtool', ['test', 'rules', RULES_TEST], { stdio: 'pipe' });
    });
  }
});
