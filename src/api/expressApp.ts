import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import helmet from 'helmet';
import { AppError } from '../errors.js';
import type { Ledger } from '../db/connection/ledger.js';
import { registerBacklogMetrics } from '../health/backlogMetrics.js';
import { createBacklogReader } from '../health/backlogReader.js';
import { registerPoolMetrics } from '../health/poolMetrics.js';
import { registerPostgresMetrics } from '../health/postgresMetrics.js';
import { findOverdue } from '../health/readiness.js';
import type { Authenticator } from './auth/authenticate.js';
import { authRoutes } from './auth/authRoutes.js';
import { createSignInResponder } from './auth/signInResponder.js';
import { SignInLimits } from './auth/signInLimits.js';
import type { Tokens } from './auth/tokens.js';
import { ConsoleSessions } from './console/consoleSession.js';
import { consoleRoutes } from './console/consoleRoutes.js';
import { CONTENT_POLICY } from './contentPolicy.js';
import { describeFor } from './describeTenant.js';
import { graphiqlRoutes } from './graphiql.js';
import { healthRoutes } from './health.js';
import type { BodyBudget } from './http/bodyBudget.js';
import { explain, sendFailure } from './http/failure.js';
import { mailboxRoutes } from './mailbox/mailboxRoutes.js';
import type { HttpMetrics } from './metrics.js';
import { oidcRoutes } from './oidc/oidcRoutes.js';
import { createProviderAccess } from './oidc/providerAccess.js';
import { signInRoutes } from './signIn/signInRoutes.js';
import { unsubscribeRoutes } from './unsubscribe/unsubscribeRoutes.js';
import type { WebDeps } from './webDeps.js';
import { eventRoutes } from './webhooks/eventRoutes.js';
import { MailEventMetrics } from './webhooks/mailEventMetrics.js';

export interface ExpressAppDeps extends WebDeps {
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly metrics: HttpMetrics;
  readonly ledger: Ledger;
  readonly bodies: BodyBudget;
  readonly isStopping: () => boolean;
}

/** Everything but GraphQL: sign-in, health, metrics and HTML pages. */
export function createExpressApp(deps: ExpressAppDeps): (req: IncomingMessage, res: ServerResponse) => void {
  const { config, database, principals, tokens, authenticator } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', config.trustProxy);
  app.use(securityHeaders(config.baseUrl));
  const readBacklog = createBacklogReader(deps, config.backlogAlarmSeconds);
  const { checks, isStopping } = deps;
  const overdue = (): ReturnType<typeof findOverdue> => findOverdue(readBacklog, config.backlogAlarmSeconds);
  app.use(healthRoutes({ checks, findOverdue: overdue, isStopping }));
  app.use(deps.metrics.routes());
  registerBacklogMetrics(deps.metrics.registry, readBacklog);
  registerPoolMetrics(deps.metrics.registry, database);
  registerPostgresMetrics(deps.metrics.registry, database, deps.log);
  const events = new MailEventMetrics(deps.metrics.registry);
  app.use(eventRoutes({ ...deps, events }));
  const answerSignIn = createSignInResponder({
    tokens,
    baseUrl: config.baseUrl,
    answers: deps.engine.answers,
    slowness: { stallMs: config.answerStallMs, timeoutMs: config.answerTimeoutMs },
    describe: describeFor(deps.engine),
    describeControl: () => deps.control.describe(),
  });
  const limits = new SignInLimits({ ...deps });
  const signIn = { knex: database.knex, principals, answerSignIn, limits };
  app.use(authRoutes({ ...signIn, authenticator }));
  const consoleSessions = new ConsoleSessions({ ...deps, ...signIn });
  const oidc = { ...deps, ...signIn, ...createProviderAccess(config, deps.clock), consoleSessions };
  app.use(oidcRoutes(oidc));
  app.use(signInRoutes(oidc));
  app.use(consoleRoutes(oidc));
  app.use(graphiqlRoutes());
  app.use(unsubscribeRoutes(deps));
  if (config.mailTransport === 'mailbox') {
    app.use(mailboxRoutes({ ...config, ...signIn, tokens, authenticator }));
  }
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
  '/signin': 'GET, POST',
  '/signin/oidc': 'POST',
  '/livez': 'GET',
  '/readyz': 'GET',
  '/metrics': 'GET',
};

const otherMethods: RequestHandler = (req, res, next) => {
  const allow = METHODS[req.path];
  if (allow === undefined) {
    next();
    return;
  }
  sendFailure(res, new AppError('METHOD_NOT_ALLOWED', `${req.method} is not allowed here.`), { allow });
};

export const nothingHere = (): AppError => new AppError('NOT_FOUND', 'There is nothing at this address.');

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
