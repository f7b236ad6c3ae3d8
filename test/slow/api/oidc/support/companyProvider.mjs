// The certified server as the identity provider of a company: one for each of SITES, in one process. The browser's cookie `person` says
// who sits at it, and everybody agrees to everything. A message { people } is the directory from then on, { rotate: name } gives a site
// new keys, and its client more metadata if there is { client }.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const SCOPES = 'openid profile email groups';
const KEYS = {
  RS256: ['rsa', { modulusLength: 2048 }],
  PS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  ES384: ['ec', { namedCurve: 'P-384' }],
  EdDSA: ['ed25519', {}],
};
let people = new Map();

const sites = new Map();
for (const site of JSON.parse(process.env.SITES)) sites.set(site.name, await start(site));
process.on('message', async (message) => {
  if (message.people) people = new Map(Object.entries(message.people));
  if (message.rotate) sites.get(message.rotate).rotate(message.client);
  process.send('done');
});
process.on('disconnect', () => process.exit(0));
process.send(Object.fromEntries([...sites].map(([name, { issuer }]) => [name, issuer])));

async function start(site) {
  let handle;
  const server = createServer((req, res) => handle(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://localhost:${server.address().port}`;
  const kept = { cookieKeys: [randomUUID()], adapter: adapterOf(new Map()) };
  const rotate = (client) => {
    Object.assign(site.client, client);
    handle = createSite(issuer, site, kept);
  };
  rotate();
  return { issuer, rotate };
}

function createSite(issuer, { client, options, alg = 'RS256' }, { cookieKeys, adapter }) {
  const { privateKey } = generateKeyPairSync(...KEYS[alg]);
  const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg };
  const provider = new Provider(issuer, {
    clients: [{ id_token_signed_response_alg: alg, ...client }],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    jwks: { keys: [key] },
    adapter,
    cookies: { keys: cookieKeys },
    scopes: SCOPES.split(' '),
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'oid'],
      groups: ['groups', 'realm_access', 'https://example.com/groups'],
    },
    conformIdTokenClaims: false,
    // The client's keys are on this machine, which the package would not call.
    fetch: (url, { headers, method }) => fetch(url, { headers, method }),
    subjectTypes: ['public', 'pairwise'],
    pairwiseIdentifier: (_context, account) => `pairwise-${account}`,
    pkce: { required: () => true },
    enabledJWA: { idTokenSigningAlgValues: Object.keys(KEYS), userinfoSigningAlgValues: Object.keys(KEYS) },
    findAccount: (_context, id) =>
      people.has(id) ? { accountId: id, claims: () => ({ sub: id, ...people.get(id) }) } : undefined,
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ...options,
    features: { devInteractions: { enabled: false }, ...options?.features },
  });
  const respond = provider.callback();
  return async (req, res) => {
    if (!req.url.startsWith('/interaction/')) return respond(req, res);
    const person = /\bperson=([^;]+)/.exec(req.headers.cookie)?.[1];
    const result = people.has(person) ? { login: { accountId: person } } : { error: 'access_denied' };
    await provider.interactionFinished(req, res, result);
  };
}

/** What the package stores, which outlives its keys. Nothing expires while a test runs. */
function adapterOf(stored) {
  const find = (kind, by) => [...stored.values()].find((entry) => entry.kind === kind && by(entry));
  return (kind) => ({
    upsert: async (id, payload) => void stored.set(`${kind} ${id}`, { ...payload, kind }),
    find: async (id) => stored.get(`${kind} ${id}`),
    findByUid: async (uid) => find(kind, (entry) => entry.uid === uid),
    consume: async (id) => void (stored.get(`${kind} ${id}`).consumed = Math.floor(Date.now() / 1000)),
    destroy: async (id) => void stored.delete(`${kind} ${id}`),
    async revokeByGrantId(grantId) {
      for (const [id, entry] of stored) if (entry.grantId === grantId) stored.delete(id);
    },
  });
}
