import { findFreePort } from '../../../../src/embedded/freePort.js';
import type { CreatedTenant } from '../../../../src/control/tenants/tenants.js';
import {
  PXADMIN_PASSWORD,
  textAt,
  WebFixture,
  type AuthBody,
  type WebFixtureOptions,
} from '../../webFixture.js';
import { HttpBrowser } from './httpBrowser.js';

export const CLIENT = { client_id: 'rowpost', client_secret: 'the secret of the client' };

export interface ProviderInput {
  readonly auth_uri: string;
  readonly token_uri: string;
  readonly jwks_uri: string;
  readonly issuer?: string;
  readonly comparison_field?: string;
  readonly end_session_uri?: string;
}

/** What a failed sign-in responses. */
export interface FailureBody {
  readonly error: string;
  readonly status: number;
  readonly code: string;
}

/** A web process at an address that providers can send browsers back to, with one tenant. */
export class OidcFixture {
  #names = 0;

  private constructor(
    readonly web: WebFixture,
    readonly tenant: CreatedTenant,
    readonly pxadmin: string,
    readonly root: string,
  ) {}

  static async start(options: WebFixtureOptions = {}): Promise<OidcFixture> {
    const port = await findFreePort();
    const web = await WebFixture.start({
      ...options,
      env: { PORT: String(port), BASE_URL: `http://localhost:${port}`, ...options.env },
    });
    const tenant = await web.createTenant('shop', 'create table note (id int primary key)');
    const pxadmin = (await web.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    const root = (await web.signIn(tenant.tenantid)).access_token;
    return new OidcFixture(web, tenant, pxadmin, root);
  }

  stop(): Promise<void> {
    return this.web.stop();
  }

  get baseUrl(): string {
    return this.web.config.baseUrl;
  }

  get redirectUri(): string {
    return `${this.baseUrl}/oidc`;
  }

  async createProvider(input: ProviderInput): Promise<number> {
    const made = await this.web.control(
      this.pxadmin,
      'mutation ($input: oidc_providersInput) { create_oidc_providers(input: $input) { providerid } }',
      { input: { name: `provider ${++this.#names}`, ...input } },
    );
    return Number(textAt(made, 'data.create_oidc_providers.providerid'));
  }

  async createConfig(providerid: number, client = CLIENT): Promise<number> {
    const made = await this.web.control(
      this.root,
      'mutation ($input: oidc_configInput) { create_oidc_config(input: $input) { confid } }',
      { input: { providerid, client_id: client.client_id, client_secret: client.client_secret } },
    );
    return Number(textAt(made, 'data.create_oidc_config.confid'));
  }

  /** A role that is the given identity. */
  async createMappedRole(login: string, confid: number, sub_id: string): Promise<number> {
    const { roleid } = await this.web.createMember(this.root, login, ['login', 'select']);
    await this.map(roleid, confid, sub_id);
    return roleid;
  }

  async map(roleid: number, confid: number, sub_id: string): Promise<void> {
    const made = await this.web.control(
      this.root,
      'mutation ($input: role_oidcInput) { create_role_oidc(input: $input) { roleid } }',
      { input: { roleid, confid, sub_id } },
    );
    textAt(made, 'data.create_role_oidc.roleid');
  }

  /** `POST /oidc` with a browser's cookies. @returns the provider's address. */
  async begin(
    browser: HttpBrowser,
    roleid: number | undefined,
    confid: number,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const response = await browser.send(`${this.baseUrl}/oidc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ tenantid: this.tenant.tenantid, roleid, confid, ...more }),
    });
    const body = await response.text();
    if (body === '') throw new Error(`POST /oidc responded with ${response.status} and no body`);
    return textAt(JSON.parse(body), 'authorization_url');
  }

  /** Through a provider that asks nothing. @returns the response of the callback. */
  async signIn(
    roleid: number | undefined,
    confid: number,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Response> {
    const browser = new HttpBrowser();
    const { url } = await browser.follow(
      await this.begin(browser, roleid, confid, more),
      (next) => !next.startsWith(this.baseUrl),
    );
    return browser.send(url);
  }

  /** Through the certified provider's forms. @returns the address of the callback, not called yet. */
  async logIn(browser: HttpBrowser, authorizationUrl: string, login: string): Promise<string> {
    const goOn = (next: string): boolean => !next.startsWith(this.baseUrl);
    const loginPage = await browser.follow(authorizationUrl, goOn);
    const resumed = await browser.submit(loginPage.url, { login, password: 'any' });
    const consent = await browser.follow(resumed, goOn);
    if (!goOn(consent.url)) return consent.url;
    const done = await browser.follow(await browser.submit(consent.url, {}), goOn);
    return done.url;
  }

  async readAuthBody(response: Response): Promise<AuthBody> {
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return (await response.json()) as AuthBody;
  }
}
