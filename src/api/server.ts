import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { readRow } from '../control/derive/rows.js';
import { oidcProviders } from '../control/objects/oidcProviders.js';
import type { Principal } from '../db/roles/principal.js';
import { FILES_PATH } from '../files/fileLinks.js';
import { openStorage } from '../files/storage/openStorage.js';
import { listen, WEB_SETTINGS } from '../foundation/net/listen.js';
import { stoppable, stopAll, type Stoppable } from '../foundation/lifecycle/shutdown.js';
import { Authenticator } from './auth/authenticate.js';
import { Sessions } from './auth/sessions.js';
import { SignInEvents } from './auth/signInEvents.js';
import { SigningKeys } from './auth/signingKeys.js';
import { Tokens } from './auth/tokens.js';
import { createFilesEndpoint } from './files/filesEndpoint.js';
import { createObjectLeases } from './files/objectLeases.js';
import { createGraphqlEndpoint, type GraphqlExecutor } from './graphql/graphqlEndpoint.js';
import { wantsHtml } from './graphql/graphqlMediaType.js';
import { UnidentifiedTurns } from './http/unidentifiedTurns.js';
import { BodyBudget } from './http/bodyBudget.js';
import { createCors } from './http/cors.js';
import { nothingHere, sendFailure } from './http/failure.js';
import { JoinedRequest } from './http/joinedRequest.js';
import { createRequestLog } from './http/requestLog.js';
import { RequestRecord, requestIdOf, setRecord } from './http/requestRecord.js';
import { beginSpan, endSpan } from './http/requestSpan.js';
import { serializePerConnection } from './http/serializePerConnection.js';
import { endSlowResponse } from './http/sendResponse.js';
import { UnreadBodies } from './http/unreadBodies.js';
import { unclearHeaders } from './http/unclearHeaders.js';
import { HttpMetrics, routeOf } from './http/metrics.js';
import { createProviderClient } from './oidc/providerClient.js';
import { oidcSetUp } from './oidc/setUp.js';
import { ProviderKeys } from './oidc/providerKeys.js';
import { ProviderMetadata } from './oidc/providerMetadata.js';
import { Provisioner } from '../control/oidc/provisioner.js';
import type { OidcSetUp } from '../control/oidc/oidcSetUp.js';
import { ProviderIssuers } from './oidc/providerIssuers.js';
import { createExpressApp } from './http/expressApp.js';
import { PasswordEmails } from './signIn/passwordEmails.js';
import { AnonymousLimits } from './http/anonymousLimits.js';
import type { WebDeps } from './http/webDeps.js';

export interface Web extends Stoppable {
  readonly port: number;
}

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than load balancers keep idle connections, so that they close them first, when no request is in flight. */
const KEEP_ALIVE_MS = 75_000;
const SWEEP_MS = 50;
/** How long a stopping process waits for the first request of a new connection. */
const REQUEST_GRACE_MS = 1_000;

/** Starts the HTTP server on `config.host` and `config.port`. Stopping it drains requests in flight. */
export async function startWeb(deps: WebDeps): Promise<Web> {
  const { config, database, log, clock } = deps;
  const keys = new SigningKeys(database.pool, deps.keyRing, clock);
  await keys.ensure();
  const tokens = new Tokens(keys, config, clock);
  const sessions = new Sessions(deps);
  const signInEvents = new SignInEvents(deps);
  const passwordEmails = new PasswordEmails({ ...deps, signInEvents });
  const turns = new UnidentifiedTurns(database.pool, config);
  const authenticator = new Authenticator(tokens, deps.principals, sessions, {
    clock,
    signInsPerAddress: config.signInsPerAddress,
    turns,
  });
  const metrics = new HttpMetrics();
  const requests = createRequestLog(log, config.logLinesPerSecond);
  const storage = openStorage(config);
  const leases = createObjectLeases(database, log);
  const files = createFilesEndpoint({ ...deps, storage, leases, turns });
  let stopped: Promise<void> | undefined;

  const anonymousLimits = new AnonymousLimits(config);
  const bodies = new BodyBudget();
  const callProvider = createProviderClient({
    timeoutMs: config.oidcTimeoutMs,
    allowPrivateNetwork: !config.production || config.oidcAllowPrivateNetwork,
  });
  const issuers = new ProviderIssuers(callProvider, clock);
  const oidc = {
    callProvider,
    issuers,
    providerKeys: new ProviderKeys(callProvider, clock),
    providerMetadata: new ProviderMetadata(callProvider, clock),
    provisioner: new Provisioner(deps),
  };
  const setUp = oidcSetUp({ ...deps, ...oidc });
  const endpointDeps = { ...deps, authenticator, bodies };
  const graphql = new Map([
    [
      '/query',
      createGraphqlEndpoint(deps.engine, {
        ...endpointDeps,
        admit: (principal, req) => anonymousLimits.admit(principal, req),
      }),
    ],
    [
      '/roles_pbac',
      createGraphqlEndpoint(withSignIn(deps, tokens, issuers, setUp), {
        ...endpointDeps,
        admit: async (principal, req) =>
          (await anonymousLimits.admit(principal, req)) ?? anonymousLimits.ofRole(principal, req),
      }),
    ],
  ]);
  const pages = createExpressApp({
    ...deps,
    tokens,
    authenticator,
    sessions,
    signInEvents,
    passwordEmails,
    metrics,
    bodies,
    anonymousLimits,
    turns,
    ...oidc,
    oidcSetUp: setUp,
    isStopping: () => stopped !== undefined,
  });
  const cors = createCors(config.corsOrigins);
  const unread = new UnreadBodies(config.trustProxy);

  let inFlight = 0;
  const handle = serializePerConnection((req, res) => {
    const path = pathOf(req);
    const id = requestIdOf(req);
    res.setHeader('x-request-id', id);
    const record = new RequestRecord(id, req.method ?? '', routeOf(path));
    setRecord(res, record);
    beginSpan(record, req);
    inFlight += 1;
    res.once('close', () => {
      inFlight -= 1;
      metrics.observe(record, res.statusCode);
      requests.ended(record, res.statusCode, res.writableFinished);
      endSpan(record, res);
    });
    if (stopped) res.setHeader('connection', 'close');
    const hasBody = 'content-length' in req.headers || 'transfer-encoding' in req.headers;
    if (hasBody) unread.drainAfterResponse(req, res);
    if (cors(req, res, path)) return;
    const refusal = isPlainPath(req.url) ? unclearHeaders(req) : nothingHere();
    if (refusal) {
      sendFailure(res, refusal, { connection: 'close' });
      return;
    }
    const isFile = path.startsWith(FILES_PATH);
    // File transfers have time limits of their own.
    if (hasBody && (!isFile || req.method !== 'PUT')) endSlowRequest(req);
    if (isFile) {
      void files(req, res);
      return;
    }
    // The client waits for 100 Continue before it sends its body. Uploads are checked first.
    if (req.headers.expect !== undefined) res.writeContinue();
    const graphqlAt = graphql.get(path);
    if (graphqlAt && !isPageVisit(req)) {
      void graphqlAt(req, res);
      return;
    }
    endSlowResponse(res, config.responseTimeoutMs);
    pages(req, res);
  });
  const server = createServer({ IncomingMessage: JoinedRequest }, handle).on('checkContinue', handle);
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // File transfers may take hours and have time limits of their own. So do all other bodies.
  server.requestTimeout = 0;
  await listen(server, { host: config.host, port: config.port }, WEB_SETTINGS);
  const { port } = server.address() as AddressInfo;
  log.info({ port }, 'listening');
  return {
    port,
    stop: () =>
      (stopped ??= close(server, () => inFlight, config.shutdownDelayMs).then(() =>
        stopAll([leases, stoppable(storage), sessions, passwordEmails, signInEvents]),
      )),
  };
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0] ?? '/';
}

/** Not `http://host/metrics` nor `/metrics#x`, which proxies that hide paths by name may pass on. */
function isPlainPath(url = ''): boolean {
  return url.startsWith('/') && !url.includes('#');
}

/** Whether a browser opens the address as a page: then GraphiQL is shown instead of a response. */
function isPageVisit(req: IncomingMessage): boolean {
  return req.method === 'GET' && wantsHtml(req.headers.accept);
}

/** Closes the connection if a body doesn't arrive in time. */
function endSlowRequest(req: IncomingMessage): void {
  const timer = setTimeout(() => {
    if (!req.complete) req.destroy();
  }, REQUEST_TIMEOUT_MS);
  req.once('close', () => clearTimeout(timer));
}

/**
 * After the delay, closes idle connections, busy ones after their response, and those without a request after a grace
 * period. If a connection is closed while a load balancer is sending a request on it, it can't know whether the request
 * was processed.
 */
async function close(server: Server, inFlight: () => number, delayMs: number): Promise<void> {
  if (delayMs > 0) await delay(delayMs);
  const graceEndsAt = performance.now() + REQUEST_GRACE_MS;
  const sweep = setInterval(() => {
    // Otherwise a connection whose response completes during the stop would stay open until its keep-alive timeout, and
    // one that sends nothing forever.
    if (inFlight() === 0 && performance.now() > graceEndsAt) server.closeAllConnections();
    else server.closeIdleConnections();
  }, SWEEP_MS);
  await new Promise<void>((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
  });
  clearInterval(sweep);
}

/** Lets the control engine issue tokens and call identity providers, without coupling it to either. */
function withSignIn(
  deps: WebDeps,
  tokens: Tokens,
  issuers: ProviderIssuers,
  setUp: OidcSetUp,
): GraphqlExecutor {
  const learnProvider = async (providerid: number): Promise<void> => {
    const provider = await readRow(deps.database.pool, oidcProviders, { providerid });
    if (provider) await issuers.learn(deps, provider);
  };
  return {
    execute: (principal, request, { claims, ...options }) => {
      const authTimeMs = claims?.authTimeMs ?? 0;
      const { roleid, tokensValidFromMs } = principal;
      const sessionid = claims?.sessionid;
      const keyid = claims?.keyid;
      const actors = [...(claims?.actors ?? []), { roleid, tokensValidFromMs, sessionid, keyid }];
      const issueToken = (subject: Principal): Promise<string> =>
        tokens.issue(subject, 'access', { authTimeMs, actors });
      return deps.control.execute(principal, request, {
        ...options,
        authTimeMs,
        sessionid,
        keyid: actors.findLast((actor) => actor.keyid !== undefined)?.keyid,
        actors: claims?.actors.map((actor) => actor.roleid) ?? [],
        issueToken,
        learnProvider,
        oidcSetUp: setUp,
      });
    },
  };
}
