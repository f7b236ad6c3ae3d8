// The certified server as a process of its own. PROVIDER_OPTIONS holds { clients, groups } as JSON: groups has those of
// a login, such as {"ada": ["staff"]}, for the claim groups. Started by hand it listens on PROVIDER_PORT; started by a
// test on any port, which it tells, and it signs with new keys when it is told to rotate.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const { clients, groups = {} } = JSON.parse(process.env.PROVIDER_OPTIONS ?? '{}');
let response;
const server = createServer((req, res) => response(req, res));
server.listen(Number(process.env.PROVIDER_PORT ?? 0), '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  const start = () => {
    response = createProvider(issuer);
    if (process.send) process.send({ issuer });
    else console.log(`a provider for trying out, at ${issuer}`);
  };
  process.on('message', start);
  start();
});
process.on('disconnect', () => process.exit(0));

function createProvider(issuer) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
  const provider = new Provider(issuer, {
    clients,
    jwks: { keys: [key] },
    cookies: { keys: [randomUUID()] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['oid', 'groups'] },
    // Claims by scope go into the ID token, as with most providers.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { backchannelLogout: { enabled: true } },
    // Its own refuses services on this machine.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.com`,
        email_verified: true,
        oid: `oid-of-${id}`,
        groups: groups[id],
      }),
    }),
  });
  return provider.callback();
}
