import type { WebFixture } from './webFixture.js';

/** A browser without JavaScript, over HTTP: it keeps cookies, and sends forms as a browser does. */
export class ConsoleBrowser {
  readonly cookies = new Map<string, string>();

  constructor(private readonly fixture: Pick<WebFixture, 'url'>) {}

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#send(path, headers);
  }

  /** The text of a page that must be there. */
  async page(path: string): Promise<string> {
    const response = await this.get(path);
    const html = await response.text();
    if (response.status !== 200) throw new Error(`${path} responded with ${response.status}: ${html}`);
    return html;
  }

  async post(
    path: string,
    values: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const own = { origin: this.fixture.url, 'sec-fetch-site': 'same-origin' };
    return this.#send(path, { ...own, ...headers }, { method: 'POST', body: new URLSearchParams(values) });
  }

  /** A form as it is sent, which may take less to make than that of a page. */
  async send(path: string, body: string): Promise<Response> {
    const own = { origin: this.fixture.url, 'sec-fetch-site': 'same-origin' };
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.#send(path, { ...own, ...type }, { method: 'POST', body });
  }

  async signIn(tenant: string, login: string, password: string, next?: string): Promise<Response> {
    return this.post('/console/sign-in', {
      tenant,
      login,
      password,
      ...(next === undefined ? {} : { next }),
    });
  }

  /** What the forms of a page have to carry. */
  async csrf(path: string): Promise<string> {
    return /name="csrf" value="([^"]+)"/.exec(await this.page(path))?.[1] ?? '';
  }

  async #send(
    path: string,
    given: Readonly<Record<string, string>>,
    init: RequestInit = {},
  ): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', ...given, ...(cookie === '' ? {} : { cookie }) };
    const response = await fetch(`${this.fixture.url}${path}`, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}
