import { Router, type RequestHandler, type Response } from 'express';
import type { AppError } from '../../foundation/errors.js';
import { MAX_LOGIN_LENGTH } from '../../foundation/passwordRules.js';
import { readText } from '../auth/readSignIn.js';
import { clientAddress } from '../http/clientAddress.js';
import { formText } from '../http/formText.js';
import { NO_TENANT } from '../http/readId.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { sendPage } from '../pages/sendPage.js';
import { signInForm } from '../signIn/signInForms.js';
import { linkTo, SIGN_IN } from './consolePath.js';
import { ownPagesOnly } from './formGuards.js';
import type { Values } from './formValues.js';
import { findTenant, tenantIn } from './signInTenant.js';

const FORGOTTEN = `${SIGN_IN}/forgotten`;

/** `/console/sign-in/forgotten`: sends a link to whoever has forgotten a password. What it says is the same for every login. */
export function forgottenPages(deps: RouteDeps): Router {
  const show = async (res: Response, values: Values, problem?: AppError): Promise<void> => {
    const view = {
      title: 'Forgotten password',
      tenant: tenantIn(values),
      login: formText(values, 'login'),
      isSent: formText(values, 'done') === 'sent',
      problem,
    };
    await sendPage(res, 'forgotten', view, { status: problem?.status ?? 200 });
  };

  const page: RequestHandler = (req, res) => show(res, req.query);

  const guard = ownPagesOnly(deps.config.baseUrl);

  const send = signInForm(deps, show, async (req, res, values) => {
    const login = readText(values, 'login', MAX_LOGIN_LENGTH);
    const tenant = tenantIn(values);
    const tenantid = (await findTenant(deps, tenant)) ?? NO_TENANT;
    await deps.principals.requireTenantInThisCell(tenantid);
    deps.passwordEmails.request({ tenantid, login, address: clientAddress(req, deps.config.trustProxy) });
    res.redirect(303, linkTo(FORGOTTEN, { tenant, done: 'sent' }));
  });

  return Router()
    .get(FORGOTTEN, deps.limits.viewsByAddress, page)
    .post(FORGOTTEN, guard, deps.limits.byAddress, deps.limits.resetsByAddress, send);
}
