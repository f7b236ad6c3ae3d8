import { Router, type ErrorRequestHandler, type Request, type Response } from 'express';
import { isInstallationAdmin } from '../../control/permissions.js';
import { ownValue } from '../../foundation/ownValue.js';
import { recordSignInEvents } from '../../db/roles/signIn/signInEvents.js';
import { AppError } from '../../foundation/errors.js';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import { oneStep } from '../../graphql/steps.js';
import { explain, retryAfter } from '../http/failure.js';
import { readFields, type InTurn } from '../http/readFields.js';
import { recordOf } from '../http/requestRecord.js';
import { formText } from '../http/formText.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { accountPage } from './accountPage.js';
import { addressPages } from './addressPages.js';
import { auditPage } from './auditPage.js';
import { endSessionUrl } from '../oidc/endSessionUrl.js';
import { CALLBACKS } from '../oidc/oidcRoutes.js';
import { signedOut } from '../oidc/signedOut.js';
import { createGraphqlClient } from './graphqlClient.js';
import { brandPage } from './brandPage.js';
import { classPages } from './classPages.js';
import { ACCOUNT, CONSOLE, readConsolePath, SIGN_IN, signInPath } from './consolePath.js';
import type { ConsoleSession } from './consoleSession.js';
import { deliveryPages } from './deliveryPages.js';
import { emailListPage, EMAILS } from './emailListPage.js';
import { emailPages } from './emailPages.js';
import { emailPreview } from './emailPreview.js';
import type { Values } from './formValues.js';
import { isOfOtherTenant, requireCsrfToken, requireOwnPage } from './formGuards.js';
import { emailPreviewPages } from './emailPreviewPages.js';
import { createSendCsv, exportPages } from './exportPages.js';
import { forgottenPages } from './forgottenPages.js';
import { invitationPages } from './invitationPages.js';
import { invitePages } from './invitePages.js';
import { keyPage } from './keyPage.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { mayOf } from './may.js';
import { OVERVIEW, overviewPage } from './overviewPage.js';
import { personPage } from './personPage.js';
import { policyPages } from './policyPages.js';
import { redrivePages } from './redrivePages.js';
import { providerPage } from './providerPage.js';
import { providerSetUp } from './providerSetUp.js';
import { rolePages } from './rolePages.js';
import { rowPages } from './rowPages.js';
import { rulePages } from './rulePages.js';
import { SECRET_FIELDS } from './carrierForms.js';
import { carrierPage } from './carrierPage.js';
import { sendEmail, sendPage, type PageBudget } from '../pages/sendPage.js';
import { sessionPage } from './sessionPage.js';
import { selectedPages } from './selectedPages.js';
import { sentEmailPages } from './sentEmailPages.js';
import { signInEventPage } from './signInEventPage.js';
import { signInPages } from './signInPages.js';
import { tablePages } from './tablePages.js';
import { tenantPages } from './tenantPages.js';
import { trialSignIn } from './trialSignIn.js';
import { versionPage } from './versionPage.js';
import { whyPage } from './whyPage.js';

/** The default limit for forms. */
const MAX_FORM_BYTES = 65_536;
/** No page shows more of a tenant's rows. */
const MAX_ROWS_CHARACTERS = 1024 * 1024;
/** The owner of large forms whose session has ended. */
const ANONYMOUS_CLIENTS = { key: 'anonymous console clients', isAnonymous: true };

/** `/console`: pages about a tenant's emails. They work without scripts. */
export function consoleRoutes(deps: RouteDeps): Router {
  const visitOf = (req: Request, res: Response, session: ConsoleSession, values?: Values): Visit => ({
    session,
    query: createGraphqlClient(deps.control, session.principal, {
      inTurn: inTurnOf(deps, session),
      allowMutation: values !== undefined,
      allowance: deps.anonymousLimits.ofRole(session.principal, req),
      authTimeMs: session.authTimeMs,
      sessionid: session.sessionid,
      oidcSetUp: deps.oidcSetUp,
    }),
    queryData: createGraphqlClient(deps.engine, session.principal, {
      inTurn: inTurnOf(deps, session),
      allowMutation: values !== undefined,
      maxCharacters: MAX_ROWS_CHARACTERS,
    }),
    inTurn: inTurnOf(deps, session),
    isAdmin: session.principal.isAdmin,
    may: mayOf(session.principal),
    isOperator: isInstallationAdmin(session.principal),
    show: (view, shown, page) =>
      sendPage(
        res,
        view,
        { ...frameOf(req, session), baseUrl: deps.config.baseUrl, ...shown },
        { ...page, budget: pageBudgetOf(deps, session) },
      ),
    showEmail: (html) => sendEmail(res, html, pageBudgetOf(deps, session)),
    values: values ?? {},
  });

  const page: PageHandlers['page'] = (handle) => async (req, res) => {
    const session = await deps.consoleSessions.read(req);
    const attempt: Attempt = { framed: false, session };
    res.locals['attempt'] = attempt;
    if (!session) {
      res.redirect(303, signInPath(readConsolePath(req.originalUrl)));
      return;
    }
    recordOf(res)?.setPrincipal(session.principal);
    await handle(visitOf(req, res, session), req, res);
  };

  const form: PageHandlers['form'] =
    (handle, { limitBytes = MAX_FORM_BYTES, framed = false } = {}) =>
    async (req, res) => {
      const attempt: Attempt = { framed };
      res.locals['attempt'] = attempt;
      requireOwnPage(req, deps.config.baseUrl);
      const session = await deps.consoleSessions.read(req);
      attempt.session = session;
      if (session) recordOf(res)?.setPrincipal(session.principal);
      // Read first, so that the input can be shown again if the session has ended in the meantime.
      const known = session !== undefined || deps.consoleSessions.isEnded(req);
      const { values } = await readFields(
        req,
        known ? limitBytes : MAX_FORM_BYTES,
        // Parsing a large form counts as planning, like the body of a GraphQL request.
        (work) =>
          deps.engine.planning.run(
            session ? planOwnerOf(session.principal) : ANONYMOUS_CLIENTS,
            oneStep(work),
          ),
        () =>
          session
            ? deps.bodies.ofTenant(session.principal.tenantid, res)
            : deps.bodies.ofAnonymous(ANONYMOUS_CLIENTS.key, res),
      );
      if (known) attempt.values = values;
      if (!session) {
        throw new AppError('TOKEN_MISSING', 'Your session has ended.', { hint: 'Sign in and try again.' });
      }
      requireCsrfToken(session, values['csrf']);
      await handle(visitOf(req, res, session, values), req, res);
    };

  const handlers: PageHandlers = { page, form };
  const sendCsv = createSendCsv(deps);

  const signOut = form(async (_visit, req, res) => {
    const ended = await deps.consoleSessions.end(req, res);
    if (ended) await recordSignInEvents(deps.database.pool, [signedOut(deps, req, ended, 'console')]);
    const atProvider = ended && (await endSessionUrl(deps, ended, SIGN_IN));
    // Not redirected: browsers check where a form leads, and the provider is elsewhere.
    if (!atProvider) {
      res.redirect(303, SIGN_IN);
      return;
    }
    res.setHeader('refresh', `0; url=${atProvider.url}`);
    await sendPage(res, 'signing-out', { title: 'Signing out', ...atProvider });
  });

  const start = page(({ may, isOperator }, _req, res) => {
    // Those who see nothing are told why by the page of their account.
    const first = may.viewDeliveries || isOperator ? OVERVIEW : may.editEmails ? EMAILS : ACCOUNT;
    res.redirect(303, first);
    return Promise.resolve();
  });

  const notFound = page(() => {
    throw new AppError('NOT_FOUND', 'There is no such page.', { hint: 'Choose a page from the menu.' });
  });

  return Router()
    .use(invitationPages(deps), forgottenPages(deps), signInPages(deps))
    .get(CONSOLE, start)
    .post(`${CONSOLE}/sign-out`, signOut)
    .use(
      overviewPage(handlers),
      redrivePages(handlers),
      selectedPages(handlers, sendCsv),
      exportPages(handlers, sendCsv, deps.config.listMaxLimit),
      deliveryPages(handlers, deps.config.listMaxLimit),
      emailPreviewPages(handlers),
      sentEmailPages(handlers),
      personPage(handlers, deps.config.listMaxLimit),
      whyPage(handlers),
    )
    .use(
      emailPreview(handlers),
      versionPage(handlers),
      emailListPage(handlers, deps.config.mailTransport),
      emailPages(handlers, deps.config.mailTransport),
      rulePages(handlers),
      addressPages(handlers),
      carrierPage(handlers, deps.config.mailTransport),
    )
    .use(
      tablePages(handlers),
      rowPages(handlers),
      invitePages(handlers),
      rolePages(handlers),
      policyPages(handlers),
      classPages(handlers),
      tenantPages(handlers),
      brandPage(handlers),
      accountPage(handlers),
      sessionPage(handlers),
      signInEventPage(handlers),
      providerPage(handlers),
      providerSetUp(handlers),
      trialSignIn(deps, handlers),
      auditPage(handlers),
      keyPage(handlers),
    )
    .get(`${CONSOLE}/*path`, notFound)
    .use([CONSOLE, ...CALLBACKS], failedPage(deps));
}

/** A role's pages count as its tenant's, as its responses do. */
function pageBudgetOf({ engine, config }: RouteDeps, { principal }: ConsoleSession): PageBudget {
  return {
    run: (steps) => engine.planning.run(planOwnerOf(principal), steps),
    open: () => engine.responses.open(principal.tenantid),
    limits: config,
  };
}

function inTurnOf({ engine }: RouteDeps, { principal }: ConsoleSession): InTurn {
  return (work) => engine.planning.run(planOwnerOf(principal), oneStep(work));
}

/** What is known about a request when it fails. */
interface Attempt {
  readonly framed: boolean;
  session?: ConsoleSession | undefined;
  /** The fields, if it is one of our own forms. */
  values?: Values;
}

/** Renders an error as a page: what happened, and what to do. A form keeps its input. */
function failedPage(deps: RouteDeps): ErrorRequestHandler {
  return async (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const shownError = explain(error, deps.log, res);
    const { code, message, hint, status } = shownError;
    const record = recordOf(res);
    if (record) record.code = code;
    const { session, values, framed } = (res.locals['attempt'] ?? { framed: false }) as Attempt;
    // What was written for one tenant must not reach another by a click.
    const isOfOther = session && values && isOfOtherTenant(session, values['csrf']);
    const shown = {
      // So that the next attempt says whose form it is.
      sentCsrf: formText(values ?? {}, 'csrf').slice(0, MAX_CSRF_CHARACTERS),
      ...(session && !framed ? frameOf(req, session) : {}),
      title: status === 404 ? 'Not found' : status === 403 ? 'Not allowed' : 'The request failed',
      problem: { code, message, hint },
      requestId: status >= 500 ? res.getHeader('x-request-id') : undefined,
      signInPath: session || framed ? undefined : SIGN_IN,
      kept: framed || isOfOther ? [] : writtenIn(values),
      action: req.path,
    };
    res.set(retryAfter(shownError));
    const budget = session && pageBudgetOf(deps, session);
    await sendPage(res, 'problem', shown, { status, framed, ...(budget ? { budget } : {}) });
  };
}

const MAX_CSRF_CHARACTERS = 100;
const SECRETS: readonly string[] = ['secret', 'current_password', ...SECRET_FIELDS];

/** The form fields with text that the user typed; none if one is a secret, without which the rest would say something else. */
function writtenIn(values: Values = {}): readonly { readonly name: string; readonly value: string }[] {
  if (SECRETS.some((name) => (ownValue(values, name) ?? '') !== '')) return [];
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'csrf' ? [{ name, value }] : [],
  );
}

function frameOf(req: Request, { principal, csrfToken }: ConsoleSession): object {
  const { login, roleid, tenantid, isAdmin } = principal;
  const user = login ?? `role ${roleid}`;
  const isOperator = isInstallationAdmin(principal);
  return {
    user,
    ownRoleid: String(roleid),
    tenantid,
    tenantName: principal.tenantName,
    csrf: csrfToken,
    here: req.path,
    isAdmin,
    may: mayOf(principal),
    isOperator,
  };
}
