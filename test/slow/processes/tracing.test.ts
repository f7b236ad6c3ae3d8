import { expect } from 'chai';
import { startFakeApi, type FakeApi } from '../../support/fakeApi.js';
import { runRowpost, type RowpostProcess } from '../../support/rowpostProcess.js';
import { runSql } from '../../support/runSql.js';
import { createTestRedis } from '../../support/testRedis.js';
import { waitFor } from '../../support/waitFor.js';
import { createFleet, emailsPerOrder, setUpConfirmations, type Fleet } from '../../processes/fleet.js';

/** A span as OTLP's JSON has it. */
interface SentSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

interface Payload {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: SentSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly Omit<SentSpan, 'service'>[] }[];
  }[];
}

const CALLER = '0af7651916cd43dd8448eb211c80319c';
const SECRET = 'only-in-the-row@example.com';

describe('traces', () => {
  let fleet: Fleet;
  let collector: FakeApi;
  let web: RowpostProcess;
  let worker: RowpostProcess;

  before(async () => {
    collector = await startFakeApi();
    collector.reply = () => ({ status: 200, body: {} });
    fleet = await createFleet({
      postgres: 18,
      redisUrl: await createTestRedis(),
      settings: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '100',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      },
    });
    web = await fleet.start('web');
    await fleet.start('relay');
    worker = await fleet.start('worker');
    await setUpConfirmations(fleet);
  });
  after(async () => {
    await fleet.stop();
    await collector.stop();
  });

  const spans = (): SentSpan[] =>
    collector.calls
      .map(({ body }) => JSON.parse(body.toString()) as Payload)
      .flatMap(({ resourceSpans }) => resourceSpans)
      .flatMap(({ resource, scopeSpans }) => {
        const service = textOf(resource, 'service.name');
        return scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service })));
      });
  const textOf = ({ attributes }: Pick<SentSpan, 'attributes'>, key: string): string =>
    String(Object.values(attributes.find((attribute) => attribute.key === key)?.value ?? {})[0]);
  const createOrder = async (id: number, traceparent: string): Promise<void> => {
    const { baseUrl, token } = fleet.web();
    const response = await fetch(`${baseUrl}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, traceparent },
      body: JSON.stringify({
        operationName: 'Buy',
        query: 'mutation Buy ($input: ordersInput) { create_orders(input: $input) { order_id } }',
        variables: { input: { order_id: id, customer_id: 1, status: SECRET } },
      }),
    });
    expect(await response.json()).to.deep.equal({ data: { create_orders: { order_id: String(id) } } });
  };
  const emailOf = async (id: number): Promise<void> => {
    await waitFor(`the email of order ${id}`, () => emailsPerOrder(fleet).has(id));
  };
  /** The parts of a trace once its delivery has ended. */
  const traceOf = async (traceId: string): Promise<SentSpan[]> => {
    await waitFor('the delivery', () =>
      spans().some((span) => span.traceId === traceId && span.name === 'delivery'),
    );
    return spans().filter((span) => span.traceId === traceId);
  };

  it('span caller, transaction, queue, queries, rendering and provider', async () => {
    await createOrder(1, `00-${CALLER}-b7ad6b7169203331-01`);
    await emailOf(1);
    const trace = await traceOf(CALLER);
    const named = (name: string): SentSpan => {
      const found = trace.filter((span) => span.name === name);
      expect(found, `${name} of ${trace.map((span) => span.name).join(', ')}`).to.have.length(1);
      return found[0]!;
    };
    const path = (span: SentSpan): string[] => {
      const parent = trace.find(({ spanId }) => spanId === span.parentSpanId);
      return [...(parent ? path(parent) : [span.parentSpanId ?? 'none']), `${span.service}: ${span.name}`];
    };
    const delivery = [
      'b7ad6b7169203331',
      'rowpost-web: POST /query',
      'rowpost-web: transaction write',
      'rowpost-worker: delivery',
    ];
    expect(path(named('delivery'))).to.deep.equal(delivery);
    for (const name of ['outbox and queue', 'compose', 'record start', 'send sendgrid', 'record outcome']) {
      const above = name === 'outbox and queue' ? delivery.slice(0, -1) : delivery;
      expect(path(named(name))).to.deep.equal([...above, `rowpost-worker: ${name}`]);
    }
    expect(path(named('transaction read'))).to.deep.equal([
      ...delivery,
      'rowpost-worker: compose',
      'rowpost-worker: query',
      'rowpost-worker: transaction read',
    ]);
    expect(trace.filter(({ name }) => name === 'render').length).to.be.at.least(2);
    const request = named('POST /query');
    expect(textOf(request, 'graphql.operation.name')).to.equal('Buy');
    expect(textOf(request, 'rowpost.tenant.id')).to.equal(String(fleet.tenantid));
    expect(textOf(request, 'http.response.status_code')).to.equal('200');
    expect(textOf(named('transaction write'), 'db.query.text')).to.match(/insert into .*orders/);
    expect(textOf(named('delivery'), 'rowpost.delivery.state')).to.equal('sent');
    for (const span of trace) {
      expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name).to.equal(true);
    }

    const send = named('send sendgrid');
    const call = fleet.provider.calls.find(({ body }) => body.subject === 'Order 1');
    expect(call?.headers['traceparent']).to.equal(`00-${CALLER}-${send.spanId}-01`);

    const [link] = named('delivery').links ?? [];
    const batch = await waitFor('the batch', () => spans().find(({ spanId }) => spanId === link?.spanId));
    expect([batch.name, batch.service]).to.deep.equal(['batch', 'rowpost-worker']);
    const poll = await waitFor('the poll', () => spans().find(({ spanId }) => spanId === batch.parentSpanId));
    expect([poll.name, poll.service]).to.deep.equal(['poll outbox', 'rowpost-relay']);
  });

  it('skip unsampled callers and probes', async () => {
    const unsampled = '1af7651916cd43dd8448eb211c80319c';
    await createOrder(2, `00-${unsampled}-b7ad6b7169203331-00`);
    await emailOf(2);
    await fetch(`${fleet.web().baseUrl}/livez`);
    await createOrder(3, `00-2${CALLER.slice(1)}-b7ad6b7169203331-01`);
    await emailOf(3);
    await traceOf(`2${CALLER.slice(1)}`);
    expect(spans().filter(({ traceId }) => traceId === unsampled)).to.deep.equal([]);
    expect(spans().filter(({ name }) => /livez|readyz|metrics/.test(name))).to.deep.equal([]);
  });

  it('continue the trace named by an SQL writer, and survive an invalid one', async () => {
    const writer = '3af7651916cd43dd8448eb211c80319c';
    const { tenantid } = fleet;
    const captured = await runRowpost(
      ['tenant', 'capture', '--tenant', String(tenantid), '--table', 'orders', '--writers', 'all'],
      fleet.env,
    );
    expect(captured.code, captured.stderr).to.equal(0);
    const write = (id: number, traceparent: string): Promise<unknown> =>
      runSql(
        fleet.env['DATABASE_URL']!,
        `begin; set local rowpost.traceparent = '${traceparent}';
        insert into tenant_${tenantid}.orders (order_id, customer_id) values (${id}, 1); commit`,
      );
    await write(4, `00-${writer}-b7ad6b7169203331-01`);
    await write(5, `'' or x`.repeat(40).replaceAll("'", ''));
    await emailOf(4);
    await emailOf(5);
    const trace = await traceOf(writer);
    expect(trace.find(({ name }) => name === 'delivery')?.parentSpanId).to.equal('b7ad6b7169203331');
  });

  it('contain no tenant data', () => {
    const sent = collector.calls.map(({ body }) => body.toString()).join('\n');
    expect(sent).to.include('insert into').and.not.include(SECRET);
    expect(sent).to.not.include('ada@example.com').and.not.include('SG.fleet');
  });

  it('are referenced in log lines', async () => {
    const lineOf = (process: RowpostProcess, message: string): unknown =>
      process
        .log()
        .split('\n')
        .find((line) => line.includes(`"trace_id":"${CALLER}"`) && line.includes(`"msg":"${message}"`));
    expect(await waitFor("the request's line", () => lineOf(web, 'request'))).to.include('"/query"');
    expect(await waitFor("the delivery's line", () => lineOf(worker, 'delivery'))).to.include('"sent"');
  });

  it('delay neither emails nor shutdown when the collector is down', async () => {
    collector.reply = () => 'hang';
    await createOrder(7, `00-5${CALLER.slice(1)}-b7ad6b7169203331-01`);
    await emailOf(7);
    // Without a limit of ours, it would wait for the collector until it is ended, with status 1. It has the span of a sign-in.
    const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_BSP_EXPORT_TIMEOUT: '600000' };
    const another = await fleet.start('web', { ...patient, SHUTDOWN_GRACE_MS: '60000' });
    expect(await another.kill('SIGTERM')).to.equal(0);
    collector.reply = () => ({ status: 200, body: {} });
  });

  it('sample a share of requests, and those sampled by the caller', async () => {
    const start = (ratio: string, service: string): Promise<RowpostProcess> =>
      fleet.start('web', {
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: ratio,
        OTEL_SERVICE_NAME: service,
      });
    // Each is signed in to once it is up, and ends with its spans sent.
    const ask = async (process: RowpostProcess, traceparent: string): Promise<void> => {
      const url = `http://127.0.0.1:${/"port":(\d+)/.exec(process.log())?.[1] ?? ''}/query`;
      await fetch(url, { method: 'POST', headers: { traceparent } });
      await process.kill('SIGTERM');
    };
    await ask(await start('1', 'all'), 'none');
    await ask(await start('0', 'none of its own'), `00-6${CALLER.slice(1)}-b7ad6b7169203331-01`);
    const requestsOf = (service: string): string[] =>
      spans().flatMap((span) => (span.service === service && /^POST/.test(span.name) ? [span.name] : []));
    expect(requestsOf('all')).to.deep.equal(['POST /auth', 'POST /query']);
    expect(requestsOf('none of its own')).to.deep.equal(['POST /query']);
  });

  it('fail startup for unsupported protocols', async () => {
    const env = { ...fleet.env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    const { code, stderr } = await runRowpost(['worker'], env);
    expect(code).to.equal(1);
    expect(stderr).to.include('OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf, http/json');
  });
});
