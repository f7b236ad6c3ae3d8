import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { WebFixture, type Json } from './webFixture.js';

describe('the web process', () => {
  let fixture: WebFixture;
  let queueWorks = true;

  before(async () => {
    fixture = await WebFixture.start({
      env: { CORS_ORIGINS: 'https://app.example', GRAPHQL_INTROSPECTION: 'true' },
      checks: {
        postgres: () => Promise.resolve(),
        queue: () => (queueWorks ? Promise.resolve() : Promise.reject(new Error('down'))),
      },
    });
  });
  after(() => fixture.stop());

  it('is live, and ready while its dependencies work; otherwise names those that are down', async () => {
    expect((await fixture.fetch('/livez')).status).to.equal(200);
    expect((await fixture.fetch('/readyz')).status).to.equal(200);
    queueWorks = false;
    const response = await fixture.fetch('/readyz');
    expect(response.status).to.equal(503);
    expect(await response.json()).to.deep.equal({ status: 'unavailable', down: ['queue'] });
    queueWorks = true;
  });

  it('serves metrics, with requests counted by route, method and status', async () => {
    await fixture.postJson('/query', {});
    const response = await fixture.fetch('/metrics');
    expect(response.headers.get('content-type')).to.include('text/plain');
    const text = await response.text();
    expect(text).to.include('process_cpu_user_seconds_total');
    expect(text).to.match(
      /rowpost_http_request_seconds_count\{method="POST",route="\/query",status="401"\} [1-9]/,
    );
  });

  it('responds with 404 and 405 in the common error format', async () => {
    const missing = await fixture.fetch('/nothing/here');
    expect([missing.status, await missing.json()]).to.deep.equal([
      404,
      { error: 'There is nothing at this address.', status: 404, code: 'NOT_FOUND' },
    ]);
    const method = await fixture.fetch('/auth', { method: 'DELETE' });
    expect(method.status).to.equal(405);
    expect(method.headers.get('allow')).to.equal('GET, POST');
    expect(((await method.json()) as Json)['code']).to.equal('METHOD_NOT_ALLOWED');
  });

  it('keeps a well-formed request id of the caller, and generates one otherwise', async () => {
    const given = await fixture.fetch('/livez', { headers: { 'x-request-id': 'order-7' } });
    expect(given.headers.get('x-request-id')).to.equal('order-7');
    const made = await fixture.fetch('/livez', { headers: { 'x-request-id': 'no spaces, please' } });
    expect(made.headers.get('x-request-id')).to.match(/^[\w-]+$/);
  });

  it('allows CORS for configured origins only, with credentials', async () => {
    const preflight = (origin: string): Promise<Response> =>
      fixture.fetch('/query', {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'apollographql-client-name,authorization,traceparent',
        },
      });
    const known = await preflight('https://app.example');
    expect(known.status).to.equal(204);
    expect(known.headers.get('access-control-allow-origin')).to.equal('https://app.example');
    expect(known.headers.get('access-control-allow-credentials')).to.equal('true');
    expect(known.headers.get('access-control-allow-headers')).to.equal(
      'apollographql-client-name,authorization,traceparent',
    );
    expect(known.headers.get('vary')).to.include('Origin');
    const stranger = await preflight('https://evil.example');
    expect(stranger.headers.get('access-control-allow-origin')).to.equal(null);
    expect(stranger.headers.get('access-control-allow-headers')).to.equal(null);
    const response = await fixture.fetch('/livez', { headers: { origin: 'https://app.example' } });
    expect(response.headers.get('access-control-allow-origin')).to.equal('https://app.example');
  });

  it('completes requests in flight when it stops, and accepts no more', async () => {
    const own = await WebFixture.start();
    const { tenantid } = await own.createTenant('shop', 'create table t (id int primary key)');
    // Verifying a password takes a tenth of a second: long enough to be in hand.
    const inHand = own.signIn(tenantid);
    await own.fetch('/livez');
    const stopped = own.web.stop();
    expect((await inHand).message).to.equal('Logged in as root.');
    await stopped;
    const refused = await own.fetch('/livez').catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(TypeError);
    await own.stop();
  });

  it('does not wait for connections without a complete request', async () => {
    const own = await WebFixture.start();
    const connections = ['', 'GET /livez HTTP/1.1\r\nHost:'].map((sent) => {
      const socket = connect(own.web.port, '127.0.0.1');
      socket.on('error', () => undefined).write(sent);
      return socket;
    });
    await Promise.all(connections.map((socket) => once(socket, 'connect')));
    await own.fetch('/livez');
    await own.stop();
    for (const socket of connections) socket.destroy();
  });
});
