import { expect } from 'chai';
import { serverAudits } from 'graphql-http';
import { waitFor } from '../support/waitFor.js';
import { WebFixture, type GraphqlResult, type Json } from './webFixture.js';
import { knexOf } from '../support/knexOf.js';

for (const path of ['/query', '/roles_pbac'] as const) {
  describe(`GraphQL over HTTP at ${path}`, () => {
    let fixture: WebFixture;
    let authorization: string;

    before(async () => {
      fixture = await WebFixture.start();
      const { tenantid } = await fixture.createTenant('shop', 'create table customer (id int primary key)');
      authorization = `Bearer ${(await fixture.signIn(tenantid)).access_token}`;
    });
    after(() => fixture.stop());

    const withToken = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
      const headers = new Headers(init.headers);
      headers.set('authorization', authorization);
      return fetch(input, { ...init, headers });
    };
    const send = (init: RequestInit, search = ''): Promise<Response> =>
      withToken(`${fixture.url}${path}${search}`, init);
    const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
      send({
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });

    // The suite of graphql-http: every MUST, SHOULD and MAY is a test of its own.
    for (const audit of serverAudits({ url: () => `${fixture.url}${path}`, fetchFn: withToken })) {
      it(`audit ${audit.id}: ${audit.name}`, async () => {
        const result = await audit.fn();
        expect(result.status, 'reason' in result ? result.reason : '').to.equal('ok');
      });
    }

    const QUERY = 'query ($name: String!) { __type(name: $name) { name } }';
    const ANSWER = { data: { __type: { name: 'Query' } } };

    it('accepts variables as an object and as a JSON string; unknown keys and variables are ignored', async () => {
      for (const variables of [{ name: 'Query', more: 1 }, '{"name": "Query", "more": 1}']) {
        const response = await post({ query: QUERY, variables, more: [1], id: 'x' });
        expect(response.status).to.equal(200);
        expect(await response.json()).to.deep.equal(ANSWER);
      }
      for (const variables of [null, '', 'null', undefined]) {
        expect(
          await (await post({ query: '{ __typename }', variables, operationName: '' })).json(),
        ).to.deep.equal({
          data: { __typename: 'Query' },
        });
      }
    });

    it('accepts urlencoded and multipart forms', async () => {
      const fields = { query: QUERY, variables: '{"name": "Query"}', more: 'x' };
      const multipart = new FormData();
      for (const [name, value] of Object.entries(fields)) multipart.set(name, value);
      for (const body of [new URLSearchParams(fields), multipart]) {
        const response = await send({ method: 'POST', body });
        expect(response.status).to.equal(200);
        expect(await response.json()).to.deep.equal(ANSWER);
      }
    });

    it('says so when JSON was sent as a form', async () => {
      const response = await send({
        method: 'POST',
        body: JSON.stringify({ query: QUERY }),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect(response.status).to.equal(400);
      expect(await response.text()).to.include('add the header Content-Type: application/json');
    });

    it('serves aliases, fragments, directives and several root fields', async () => {
      const query = `query Both($no: Boolean = false) { a: __typename ...f b: __type(name: "Query") { ...g @skip(if: $no) } }
        fragment f on Query { c: __typename @include(if: $no) } fragment g on __Type { n: name }`;
      expect(await (await post({ query, operationName: 'Both' })).json()).to.deep.equal({
        data: { a: 'Query', b: { n: 'Query' } },
      });
    });

    it('responds to GET queries, and refuses mutations by GET with 405', async () => {
      const search = new URLSearchParams({ query: QUERY, variables: '{"name":"Query"}' });
      expect(await (await send({}, `?${search.toString()}`)).json()).to.deep.equal(ANSWER);
      const mutation = new URLSearchParams({ query: 'mutation { __typename }' });
      const response = await send({}, `?${mutation.toString()}`);
      expect(response.status).to.equal(405);
      expect(response.headers.get('allow')).to.equal('POST');
      expect(((await response.json()) as GraphqlResult).errors?.[0]?.extensions.code).to.equal(
        'METHOD_NOT_ALLOWED',
      );
    });

    it('serves browsers a page that needs no token and no third-party files', async () => {
      const response = await fixture.fetch(path, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-type')).to.include('text/html');
      const page = await response.text();
      const files = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '');
      expect(files.join(' ')).to.match(/\/assets\/graphiql-[\d.]+\/graphiql\.min\.js/);
      for (const file of files) expect((await fixture.fetch(file)).status, file).to.equal(200);
      expect(page).to.not.match(/(src|href)="(https?:)?\/\//);
      // Our own files too are trusted by name only: uploads are served from this origin as well.
      expect(response.headers.get('content-security-policy')).to.match(/script-src 'nonce-[^']+'(;|$)/);
    });

    it('reports an invalid document in the GraphQL envelope', async () => {
      const cases = [
        ['{', 'GRAPHQL_SYNTAX'],
        ['{ nothing_here }', 'GRAPHQL_VALIDATION'],
        ['query ($a: Int!) { __typename @skip(if: $a) }', 'GRAPHQL_VALIDATION'],
      ] as const;
      for (const [query, code] of cases) {
        const response = await post({ query });
        expect(response.status).to.equal(200);
        const body = (await response.json()) as GraphqlResult;
        expect(body.errors?.[0]?.extensions.code).to.equal(code);
        expect(body).to.not.have.property('data');
        const strict = await post({ query }, { accept: 'application/graphql-response+json' });
        expect(strict.status).to.equal(400);
      }
    });

    it('responds to an invalid GraphQL request with 400, and an unreadable body with its own status', async () => {
      const statusAndCode = async (response: Response): Promise<[number, unknown]> => {
        const body = (await response.json()) as Json & GraphqlResult;
        return [response.status, body.errors?.[0]?.extensions.code ?? body['code']];
      };
      expect(await statusAndCode(await post({}))).to.deep.equal([400, 'BAD_REQUEST']);
      expect(await statusAndCode(await post({ query: '{ __typename }', variables: '{' }))).to.deep.equal([
        400,
        'BAD_REQUEST',
      ]);
      const large = await post({ query: '{ __typename }', more: 'x'.repeat(fixture.config.bodyLimitBytes) });
      expect(large.headers.get('connection')).to.equal('close');
      expect(await statusAndCode(large)).to.deep.equal([413, 'BODY_TOO_LARGE']);
      const text = await send({
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: '{ __typename }',
      });
      expect(await statusAndCode(text)).to.deep.equal([415, 'UNSUPPORTED_MEDIA_TYPE']);
      const picky = await post({ query: '{ __typename }' }, { accept: 'image/png' });
      expect(await statusAndCode(picky)).to.deep.equal([406, 'NOT_ACCEPTABLE']);
      const put = await send({ method: 'PUT', body: '{}' });
      expect(await statusAndCode(put)).to.deep.equal([405, 'METHOD_NOT_ALLOWED']);
      expect(put.headers.get('allow')).to.equal('GET, POST');
    });

    it('responds in the media type that the Accept header prefers, invalid requests too', async () => {
      const strict = 'application/graphql-response+json';
      for (const [accept, expected] of [
        [strict, strict],
        [`${strict}, application/json;q=0.9`, strict],
        [`application/json;q=0.5, ${strict}`, strict],
        [`${strict};q=0, application/json`, 'application/json'],
        [`multipart/mixed;deferSpec=20220824, ${strict}, */*`, strict],
        ['application/json', 'application/json'],
        [`*/*, ${strict}`, 'application/json'],
      ] as const) {
        for (const body of [{ query: '{ __typename }' }, {}]) {
          const response = await post(body, { accept });
          expect(response.headers.get('content-type'), accept).to.equal(`${expected}; charset=utf-8`);
        }
      }
    });

    it('asks clients of persisted queries for the query itself', async () => {
      const extensions = { persistedQuery: { version: 1, sha256Hash: 'ecf4edb46db40b51' } };
      const search = new URLSearchParams({ extensions: JSON.stringify(extensions) });
      for (const response of [await post({ extensions }), await send({}, `?${search.toString()}`)]) {
        const { errors } = (await response.json()) as GraphqlResult;
        // What Apollo's and urql's clients recognize, by its code and its message.
        expect(errors?.[0]?.message).to.equal('PersistedQueryNotSupported');
        expect(errors?.[0]?.extensions.code).to.equal('PERSISTED_QUERY_NOT_SUPPORTED');
      }
      expect((await post({ query: '{ __typename }', extensions })).status).to.equal(200);
    });

    it('says that it takes no batches and no multipart uploads', async () => {
      const errorOf = async (response: Response): Promise<string | undefined> => {
        expect(response.status).to.equal(400);
        return ((await response.json()) as GraphqlResult).errors?.[0]?.message;
      };
      expect(await errorOf(await post([{ query: '{ __typename }' }]))).to.contain(
        'batches are not supported',
      );
      const upload = new FormData();
      upload.set('operations', '{"query": "mutation ($file: Upload) { x }", "variables": {"file": null}}');
      upload.set('map', '{"0": ["variables.file"]}');
      upload.set('0', new Blob(['hello']), 'hello.txt');
      expect(await errorOf(await send({ method: 'POST', body: upload }))).to.contain(
        'Files are not uploaded',
      );
    });

    it('refuses bodies that are not UTF-8, and accepts a byte order mark', async () => {
      const sendBytes = (body: Buffer, contentType: string): Promise<Response> =>
        send({ method: 'POST', headers: { 'content-type': contentType }, body: new Uint8Array(body) });
      const json = '{"query": "{ __typename } # \u00e9"}';
      for (const [body, contentType] of [
        [json, 'application/json'],
        ['query={ __typename } # \u00e9', 'application/x-www-form-urlencoded'],
      ] as const) {
        expect((await sendBytes(Buffer.from(body), contentType)).status).to.equal(200);
        const refused = await sendBytes(Buffer.from(body, 'latin1'), contentType);
        expect(refused.status).to.equal(400);
        expect(await refused.text()).to.contain('The body is not valid UTF-8.');
      }
      const form = 'application/x-www-form-urlencoded';
      for (const [escaped, status] of [
        ['%E9', 400],
        ['%C3%A9', 200],
        ['%EF%BF%BD', 200],
        ['100%', 200],
      ] as const) {
        const response = await sendBytes(Buffer.from(`query={ __typename } %23 ${escaped}`), form);
        expect(response.status, escaped).to.equal(status);
      }
      expect((await sendBytes(Buffer.from(`\ufeff${json}`), 'application/json')).status).to.equal(200);
    });

    it('accepts X-Read: replica without a replica, and refuses unknown values', async () => {
      for (const source of ['replica', 'primary']) {
        const response = await post({ query: '{ __typename }' }, { 'x-read': source });
        expect(await response.json()).to.deep.equal({ data: { __typename: 'Query' } });
      }
      const refused = await post({ query: '{ __typename }' }, { 'x-read': 'anywhere' });
      expect(refused.status).to.equal(400);
      expect(await refused.text()).to.include('X-Read must be primary or replica.');
    });

    it('requires a token before anything else', async () => {
      const response = await fixture.postJson(path, { query: '{ __typename }' });
      expect(response.status).to.equal(401);
      expect(await response.json()).to.deep.equal({
        error: 'The request has no bearer token.',
        status: 401,
        code: 'TOKEN_MISSING',
      });
      expect(response.headers.get('www-authenticate')).to.match(/^Bearer /);
    });
  });
}

describe('a tenant with more concurrent requests than its share', () => {
  let fixture: WebFixture;
  before(async () => {
    fixture = await WebFixture.start({ env: { PG_POOL: '5', TENANT_QUEUE_LENGTH: '2' } });
  });
  after(() => fixture.stop());

  it('gets 503 with Retry-After, and other tenants are unaffected', async () => {
    const [busy, other] = await Promise.all(
      ['busy', 'other'].map(async (name) => {
        const tenant = await fixture.createTenant(name, 'create table thing (id int primary key)');
        const { access_token } = await fixture.signIn(tenant.tenantid);
        return { tenant, authorization: `Bearer ${access_token}` };
      }),
    );
    const ask = (authorization: string): Promise<Response> =>
      fixture.postJson('/query', { query: '{ thing { id } }' }, { authorization });
    expect((await ask(busy!.authorization)).status).to.equal(200);
    const knex = knexOf(fixture.testDatabase.database);
    const lock = await knex.transaction();
    await lock.raw('lock table ??.thing in access exclusive mode', [busy!.tenant.schema]);
    // Two connections serve tenants, one of them at most this one: one request runs, two more wait.
    const asked = Array.from({ length: 5 }, () => ask(busy!.authorization));
    const refused = await waitFor('a refusal', async () => {
      const response = await Promise.race([
        ask(busy!.authorization),
        new Promise<undefined>((go) => setTimeout(() => go(undefined), 300)),
      ]);
      return response?.status === 503 ? response : undefined;
    });
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(await refused.json()).to.have.nested.property('errors[0].extensions.code', 'TOO_BUSY');
    expect((await ask(other!.authorization)).status).to.equal(200);
    await lock.rollback();
    expect((await Promise.all(asked)).map(({ status }) => status)).to.include(200);
  });
});
