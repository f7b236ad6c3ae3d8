import type { ErrorRequestHandler } from 'express';
import { SIGN_IN } from '../console/consolePath.js';
import { wantsHtml } from '../graphql/graphqlMediaType.js';
import { explain, failureHeaders } from '../http/failure.js';
import { recordOf } from '../http/requestRecord.js';
import { sendPage } from '../pages/sendPage.js';
import type { WebDeps } from '../http/webDeps.js';
import { signInPolicy } from './signInForms.js';

/** Shows people a page where programs get JSON: browsers come back from a provider to sign-ins that are over or not theirs. */
export function failedSignIn({ log, config }: Pick<WebDeps, 'log' | 'config'>): ErrorRequestHandler {
  const policy = signInPolicy(config.baseUrl);
  return async (error: unknown, req, res, next) => {
    if (res.headersSent || !wantsHtml(req.headers.accept)) {
      next(error);
      return;
    }
    const shown = explain(error, log, res);
    const record = recordOf(res);
    if (record) record.code = shown.code;
    res.set(failureHeaders(res, shown));
    const { retryAfterSeconds: wait } = shown;
    const hint = wait === undefined ? shown.hint : `Try again in ${wait} seconds.`;
    const view = {
      title: 'Sign-in failed',
      message: shown.message,
      hint: shown.message.includes(hint) ? undefined : hint,
      code: shown.code,
      requestId: shown.status >= 500 ? record?.id : undefined,
      signInPath: SIGN_IN,
    };
    await sendPage(res, 'failed-sign-in', view, { status: shown.status, policy });
  };
}
