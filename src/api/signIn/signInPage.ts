import type { SignInOption } from '../../control/oidc/oidcRegistration.js';
import type { SignInBrand } from '../../control/tenants/signInBrand.js';
import { Html, html, htmlPage } from '../mailbox/html.js';

export interface SignInView {
  /** If unknown, the page asks for it. */
  readonly tenantid: number | undefined;
  readonly brand: SignInBrand | undefined;
  readonly login: string;
  readonly returnTo: string;
  readonly options: readonly SignInOption[];
  readonly problem?: string;
}

/** One form, since the login is the same for a password and for every provider. */
export function signInPage(view: SignInView): Html {
  return htmlPage(
    'Sign in',
    'signin/signin.css',
    html`<main>
      ${brandOf(view.brand)}
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
    </main>`,
  );
}

const nothing = new Html('');

function brandOf(brand: SignInBrand | undefined): Html {
  if (!brand) return nothing;
  const { name, color, logo } = brand;
  return html`${color === null ? nothing : html`<svg class="band" aria-hidden="true"><rect width="100%" height="100%" fill="${color}" /></svg>`}
  ${logo === null ? nothing : html`<img class="logo" src="${logo}" alt="" />`}
  ${name === null ? nothing : html`<p class="brand">${name}</p>`}`;
}

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
