import type { SignInOption } from '../../control/oidc/oidcRegistration.js';
import { Html, html } from '../mailbox/html.js';

export interface SignInView {
  /** If unknown, the page asks for it. */
  readonly tenantid: number | undefined;
  readonly login: string;
  readonly returnTo: string;
  readonly options: readonly SignInOption[];
  readonly problem?: string;
}

/** One form: the login is the same for a password and for every provider. */
export function signInPage(view: SignInView): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Sign in</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/assets/base.css" />
        <link rel="stylesheet" href="/assets/signin/signin.css" />
      </head>
      <body>
        <main>
          <h1>Sign in</h1>
          ${problemNote(view.problem)}
          <form method="post" action="/signin">
            ${tenantField(view.tenantid)}
            <input type="hidden" name="return_to" value="${view.returnTo}" />
            <label for="login">Login</label>
            <input id="login" name="login" value="${view.login}" autocomplete="username" required />
            <label for="password">Password</label>
            <input id="password" name="password" type="password" autocomplete="current-password" required />
            <button class="first">Sign in</button>
            ${providerButtons(view.options)}
          </form>
        </main>
      </body>
    </html>`;
}

const nothing = new Html('');

function problemNote(problem: string | undefined): Html {
  return problem === undefined ? nothing : html`<p class="problem" role="alert">${problem}</p>`;
}

function tenantField(tenantid: number | undefined): Html {
  if (tenantid !== undefined) return html`<input type="hidden" name="tenantid" value="${tenantid}" />`;
  return html`<label for="tenantid">Tenant</label>
    <input id="tenantid" name="tenantid" inputmode="numeric" pattern="[0-9]+" required />`;
}

/** Provider buttons need no password, so the browser must not require one. */
function providerButtons(options: readonly SignInOption[]): Html {
  if (options.length === 0) return nothing;
  const buttons = options.map(
    ({ confid, name }) =>
      html`<button name="confid" value="${confid}" formaction="/signin/oidc" formnovalidate>
        Continue with ${name}
      </button>`,
  );
  return html`<fieldset>
    <legend>Or without a password, with your login above</legend>
    ${buttons}
  </fieldset>`;
}
