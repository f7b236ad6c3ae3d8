import { Router, type RequestHandler, type Response } from 'express';
import {
  acceptInvitation,
  INVITATION_PATH,
  requireInvited,
  RESET_PATH,
} from '../../control/roles/acceptInvitation.js';
import { tenantOfInvitation, type Invited } from '../../db/roles/invitations.js';
import { AppError } from '../../foundation/errors.js';
import { MAX_PASSWORD_LENGTH } from '../../foundation/passwordRules.js';
import { readText } from '../auth/readSignIn.js';
import { signInAs } from '../auth/signIn.js';
import { clientAddress } from '../http/clientAddress.js';
import { formText } from '../http/formText.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { sendPage } from '../pages/sendPage.js';
import { signInForm } from '../signIn/signInForms.js';
import { CONSOLE, SIGN_IN } from './consolePath.js';
import { ownPagesOnly } from './formGuards.js';

const MAX_SECRET_CHARACTERS = 100;

/**
 * `/console/sign-in/invitation/…` and `/console/sign-in/reset/…`: whoever has the link chooses a password. GET changes nothing,
 * since scanners follow links.
 */
export function invitationPages(deps: RouteDeps): Router {
  const { database, principals } = deps;

  const open = async (secret: string): Promise<Invited> => {
    const tenantid = tenantOfInvitation(secret);
    // Also says where a tenant of another cell is.
    if (tenantid !== undefined) await principals.requireTenantInThisCell(tenantid);
    return requireInvited(database.pool, secret);
  };

  const show = async (res: Response, secret: string, problem?: AppError): Promise<void> => {
    let invited: Invited | undefined;
    let ended: AppError | undefined;
    try {
      invited = await open(secret);
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      ended = error;
    }
    res.setHeader('x-robots-tag', 'noindex');
    const title = invited ? 'Choose a password' : 'This link does not work';
    const view = { title, invited, secret, problem: ended ?? problem, signIn: SIGN_IN };
    const status = (ended ?? problem)?.status ?? 200;
    await sendPage(res, 'invitation', view, { status, isSecretAddress: true });
  };

  const page: RequestHandler = (req, res) =>
    deps.turns.run(req, () => show(res, String(req.params['secret'])));

  const guard = ownPagesOnly(deps.config.baseUrl);

  const secretIn = (values: Parameters<typeof formText>[0]): string =>
    formText(values, 'invitation').slice(0, MAX_SECRET_CHARACTERS);

  const accept = signInForm(
    deps,
    (res, values, error) => show(res, secretIn(values), error),
    async (req, res, values) => {
      const password = readText(values, 'secret', MAX_PASSWORD_LENGTH);
      const { tenantid, roleid, login, isReset } = await open(secretIn(values));
      await acceptInvitation(database, secretIn(values), password);
      const address = clientAddress(req, deps.config.trustProxy);
      if (isReset) deps.passwordEmails.confirm({ tenantid, login, address });
      principals.forget(tenantid);
      const principal = await signInAs(deps, tenantid, roleid);
      if (!principal) throw new AppError('NOT_FOUND', 'This role no longer exists.');
      await deps.consoleSessions.begin(req, res, principal);
      res.redirect(303, `${CONSOLE}/`);
    },
  );

  return Router()
    .get(
      [INVITATION_PATH, RESET_PATH].map((path) => `${path}:secret`),
      deps.limits.viewsByAddress,
      page,
    )
    .post(INVITATION_PATH, guard, deps.limits.byAddress, accept);
}
