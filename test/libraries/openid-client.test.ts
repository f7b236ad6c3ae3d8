import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretPost,
  Configuration,
  customFetch,
  type CustomFetch,
} from 'openid-client';
import { contractOf } from './contract.js';

const must = contractOf('openid-client');

/** Exchanges a code at a token endpoint that is `fetch`. */
function exchange(fetch: CustomFetch): Promise<unknown> {
  const endpoints = { issuer: 'http://op.example', token_endpoint: 'http://op.example/token' };
  const configuration = new Configuration(endpoints, 'client', undefined, ClientSecretPost('secret'));
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as src/api/oidc does
  allowInsecureRequests(configuration);
  configuration[customFetch] = fetch;
  const callback = new URL('http://here.example/oidc/1?code=code&state=state');
  return authorizationCodeGrant(configuration, callback, {
    expectedState: 'state',
    pkceCodeVerifier: 'v'.repeat(43),
  });
}

describe('private parts of openid-client', () => {
  it('a token request is a form of type `URLSearchParams`', async () => {
    let body: unknown;
    await exchange((_url, options) => {
      ({ body } = options);
      return Promise.reject(new Error('seen'));
    }).catch(() => undefined);
    must(body instanceof URLSearchParams, 'the body of a token request is no longer URLSearchParams');
  });

  it('an error of `customFetch` is a `cause` of what is thrown', async () => {
    const reason = new Error('from the fetch');
    const thrown: unknown = await exchange(() => Promise.reject(reason)).catch((error: unknown) => error);
    const causes: unknown[] = [];
    for (let error = thrown; error instanceof Error; error = error.cause) causes.push(error);
    must(causes.includes(reason), 'an error of customFetch is no longer among the causes of what is thrown');
  });

  it('a token response without an ID token is accepted', async () => {
    const response = '{"access_token": "unused", "token_type": "bearer"}';
    const thrown: unknown = await exchange(() =>
      Promise.resolve(new Response(response, { headers: { 'content-type': 'application/json' } })),
    ).then(
      () => undefined,
      (error: unknown) => error,
    );
    must(thrown === undefined, `a token response without an ID token is refused: ${String(thrown)}`);
  });
});
