// Queries of emails on a replica: no email with data older than its event, however late it replays, and what that spares the primary.
import { setTimeout as delay } from 'node:timers/promises';
import { startReplicatedPostgres } from '../../test/support/replicatedPostgres.js';
import { createHttpClient } from '../pipeline/httpClient.js';
import { postgresCpuSeconds } from '../pipeline/processFigures.js';
import { withSite } from '../pipeline/site.js';
import { TIMED } from '../pipeline/timedSubject.js';
import { post, signInAsRoot } from '../support/installation.js';
import { describeMachine } from '../support/report.js';

const EMAILS = Number(process.argv[2] ?? 5_000);
const RATE = Number(process.argv[3] ?? 200);
const CONNECTIONS = 8;
const DELAYS_MS = [0, 10, 50, 1_000, 5_000];
const PROBE_PORT = 19_184;

/** The order's total goes up with each change, so that an email shows how old its data were. */
const SUBJECT = `${TIMED}{{ records.new.order_id }} {{ records.new.total }} {{ found[0].total }}`;
const UPDATE =
  'mutation ($id: ID!, $input: ordersInput!) { update_orders(order_id: $id, input: $input) { order_id } }';

/** Of emails whose subjects are as above. */
function countOlder(subjects: readonly string[]): number {
  return subjects.filter((subject) => {
    const [event, found] = subject.split(' ').slice(2).map(Number);
    return !(event !== undefined && found !== undefined && found >= event);
  }).length;
}

async function readCounts(): Promise<Record<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${PROBE_PORT}/metrics`)).text();
  const lines = text.matchAll(/^rowpost_replica_reads_total\{outcome="(\w+)"\} (\d+)/gm);
  return Object.fromEntries([...lines].map(([, outcome = '', count]) => [outcome, Number(count)]));
}

const postgres = await startReplicatedPostgres();
console.log(`${describeMachine()}, ${EMAILS} emails each at ${RATE}/s`);
console.log(
  '| replica | emails | with data older than their event | queries on the replica | primary, CPU an email |',
);
console.log('| --- | --- | --- | --- | --- |');
await withSite(
  async ({ installation, shop, carrier, redis }) => {
    const { baseUrl } = await installation.startWeb({ MAIL_TRANSPORT: 'sendgrid' });
    const root = await signInAsRoot(baseUrl, shop.tenantid);
    const control = (query: string): Promise<unknown> => post(`${baseUrl}/roles_pbac`, { query }, root);
    await control(
      `mutation { update_email_type(email_type: "confirmation", input: { subject: "${SUBJECT}" }) { email_type } }`,
    );
    const rules = (await control('{ email_rule { ruleid } }')) as {
      data: { email_rule: { ruleid: string }[] };
    };
    const ruleid = rules.data.email_rule[0]?.ruleid ?? '';
    await control(
      `mutation { update_email_rule(ruleid: ${ruleid}, input: { operations: ["update"], targets: ["orders"] }) { ruleid } }`,
    );

    const client = createHttpClient(`${baseUrl}/query`, root, CONNECTIONS);
    let total = 1_000;
    const change = async (emails: number): Promise<void> => {
      const perConnection = emails / CONNECTIONS;
      const pauseMs = (1_000 * CONNECTIONS) / RATE;
      const connection = async (own: number): Promise<void> => {
        const startedAtMs = performance.now();
        for (let turn = 0; turn < perConnection; turn++) {
          const id = 1 + own + CONNECTIONS * (turn % 50);
          await client.post(JSON.stringify({ query: UPDATE, variables: { id, input: { total: ++total } } }));
          await delay(Math.max(0, startedAtMs + (turn + 1) * pauseMs - performance.now()));
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, (_, own) => connection(own)));
      await carrier.untilAccepted(emails);
    };
    const measure = async (name: string, env: Readonly<Record<string, string>>): Promise<void> => {
      const relay = await installation.startPart('relay', { REDIS_URL: redis.url });
      const worker = await installation.startPart('worker', {
        REDIS_URL: redis.url,
        MAIL_TRANSPORT: 'sendgrid',
        SENDGRID_BASE_URL: carrier.url,
        HEALTH_PORT: String(PROBE_PORT),
        ...env,
      });
      await carrier.reset();
      await change(CONNECTIONS * 100);
      await carrier.reset();
      const [before, counted] = [await postgresCpuSeconds(installation.databaseUrl), await readCounts()];
      await change(EMAILS);
      const [after, counts] = [await postgresCpuSeconds(installation.databaseUrl), await readCounts()];
      const { receipts } = await carrier.reset();
      const served = (counts['served'] ?? 0) - (counted['served'] ?? 0);
      console.log(
        `| ${name} | ${receipts.length} | ${countOlder(receipts.map(({ subject }) => subject))} | ${((100 * served) / EMAILS).toFixed(0)} % | ${((1_000 * (after - before)) / EMAILS).toFixed(2)} ms |`,
      );
      for (const part of [relay, worker]) await part.kill('SIGTERM');
    };
    await measure('none', {});
    for (const ms of DELAYS_MS) {
      await postgres.delayStandby(ms);
      await measure(ms === 0 ? 'no delay' : `${ms / 1_000} s late`, {
        DATABASE_REPLICA_URLS: postgres.standbyUrl(),
      });
    }
    client.close();
  },
  { postgres: { url: postgres.primaryUrl(), stop: () => postgres.stop() } },
);
