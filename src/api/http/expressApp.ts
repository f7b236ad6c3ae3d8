import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import helmet from 'helmet';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { Authenticator } from '../auth/authenticate.js';
import { authRoutes } from '../auth/authRoutes.js';
import { createSignInResponder } from '../auth/signInResponder.js';
import type { SignInEvents } from '../auth/signInEvents.js';
import type { Sessions } from '../auth/sessions.js';
import { SignInLimits } from '../auth/signInLimits.js';
import type { Tokens } from '../auth/tokens.js';
import { ConsoleSessions } from '../console/consoleSession.js';
import { consoleRoutes } from '../console/consoleRoutes.js';
import { CONTENT_POLICY } from './contentPolicy.js';
import { graphiqlRoutes } from '../graphql/graphiql.js';
import { probeRoutes } from './probeRoutes.js';
import type { BodyBudget } from './bodyBudget.js';
import { explain, nothingHere, sendFailure } from './failure.js';
import { mailboxRoutes } from '../mailbox/mailboxRoutes.js';
import type { HttpMetrics } from './metrics.js';
import { signOutRoutes } from '../oidc/signOutRoutes.js';
import { oidcRoutes } from '../oidc/oidcRoutes.js';
import type { ProviderClient } from '../oidc/providerClient.js';
import type { ProviderIssuers } from '../oidc/providerIssuers.js';
import type { OidcSetUp } from '../../control/oidc/oidcSetUp.js';
import type { Provisioner } from '../../control/oidc/provisioner.js';
import type { ProviderMetadata } from '../oidc/providerMetadata.js';
import type { ProviderKeys } from '../oidc/providerKeys.js';
import type { RouteDeps } from './routeDeps.js';
import { failedSignIn } from '../signIn/failedSignIn.js';
import type { PasswordEmails } from '../signIn/passwordEmails.js';
import { signInRoutes } from '../signIn/signInRoutes.js';
import { unsubscribeRoutes } from '../unsubscribe/unsubscribeRoutes.js';
import type { AnonymousLimits } from './anonymousLimits.js';
import type { UnidentifiedTurns } from './unidentifiedTurns.js';
import type { WebDeps } from './webDeps.js';
import { eventRoutes } from '../webhooks/eventRoutes.js';
import { EmailEventMetrics } from '../webhooks/emailEventMetrics.js';

export interface ExpressAppDeps extends WebDeps {
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly sessions: Sessions;
  readonly signInEvents: SignInEvents;
  readonly passwordEmails: PasswordEmails;
  readonly metrics: HttpMetrics;
  readonly bodies: BodyBudget;
  readonly anonymousLimits: AnonymousLimits;
  readonly turns: UnidentifiedTurns;
  readonly callProvider: ProviderClient;
  readonly issuers: ProviderIssuers;
  readonly providerKeys: ProviderKeys;
  readonly providerMetadata: ProviderMetadata;
  readonly provisioner: Provisioner;
  readonly oidcSetUp: OidcSetUp;
  readonly isStopping: () => boolean;
}

/** Everything but GraphQL: sign-in, health, metrics and HTML pages. */
export function createExpressApp(deps: ExpressAppDeps): (req: IncomingMessage, res: ServerResponse) => void {
  const { config, tokens } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(securityHeaders(config.baseUrl));
  const { registry } = deps.metrics;
  app.use(probeRoutes(deps, registry));
  const routeDeps: RouteDeps = {
    ...deps,
    limits: new SignInLimits(deps),
    respondToSignIn: createSignInResponder(deps, tokens),
    consoleSessions: new ConsoleSessions(deps),
  };
  app.use(eventRoutes(routeDeps, new EmailEventMetrics(registry)));
  app.use(authRoutes(routeDeps));
  app.use(signOutRoutes(routeDeps));
  app.use(oidcRoutes(routeDeps));
  app.use(signInRoutes(routeDeps));
  app.use(['/oidc', '/signin'], failedSignIn(deps));
  app.use(consoleRoutes(routeDeps));
  app.use(graphiqlRoutes());
  app.use(unsubscribeRoutes(routeDeps));
  if (config.mailTransport === 'mailbox') app.use(mailboxRoutes(routeDeps));
  app.use(otherMethods, notFound);
  app.use(failure(deps));
  return app;
}

function securityHeaders(baseUrl: string): RequestHandler {
  const https = baseUrl.startsWith('https:');
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: CONTENT_POLICY },
    strictTransportSecurity: https,
  });
}

/** Allowed methods per path, to tell a wrong method (405) from a wrong path (404). */
const METHODS: Readonly<Record<string, string>> = {
  '/auth': 'GET, POST',
  '/anonauth': 'POST',
  '/oidc': 'GET, POST',
  '/oidc/logout': 'GET, POST',
  '/oidc/backchannel': 'POST',
  '/signin': 'GET, POST',
  '/signin/oidc': 'POST',
  '/livez': 'GET',
  '/readyz': 'GET',
  '/metrics': 'GET',
};

const otherMethods: RequestHandler = (req, res, next) => {
  const allow = ownValue(METHODS, req.path) ?? (/^\/oidc\/\d+(\/jwks)?$/.test(req.path) ? 'GET' : undefined);
  if (allow === undefined) {
    next();
    return;
  }
  sendFailure(res, new AppError('METHOD_NOT_ALLOWED', `${req.method} is not allowed here.`), { allow });
};

const notFound: RequestHandler = (_req, res) => sendFailure(res, nothingHere());

function failure({ log }: WebDeps): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    // The response has begun: Express breaks the connection, so that it can't be mistaken for complete.
    if (res.headersSent) {
      next(error);
      return;
    }
    sendFailure(res, explain(error, log, res));
  };
}
