/** As much of a browser as a program needs to sign in: it keeps cookies by origin and follows redirects. */
export class HttpBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** One request, with the cookies of its origin. Redirects are not followed. */
  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    const headers = new Headers(init.headers);
    headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  setCookie(origin: string, name: string, value: string): void {
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar.set(name, value));
  }

  /** Another that holds the same cookies, and keeps them whatever this one is told. @param value gives them other values */
  copy(value = (own: string): string => own): HttpBrowser {
    const other = new HttpBrowser();
    for (const [origin, jar] of this.#cookies)
      other.#cookies.set(origin, new Map([...jar].map(([name, own]) => [name, value(own)])));
    return other;
  }

  /** Follows redirects for as long as `goOn` likes where they lead. @returns the last response and its address. */
  async follow(
    url: string,
    goOn: (url: string) => boolean = () => true,
  ): Promise<{ url: string; response: Response }> {
    let here = url;
    for (let hops = 0; hops < 20; hops += 1) {
      const response = await this.send(here);
      const location = response.headers.get('location');
      if (location === null) return { url: here, response };
      here = new URL(location, here).href;
      if (!goOn(here)) return { url: here, response };
    }
    throw new Error(`too many redirects at ${here}`);
  }

  /** Fills in the one form of a page and sends it. @returns where that leads. */
  async submit(page: string, values: Readonly<Record<string, string>>): Promise<string> {
    const html = await (await this.send(page)).text();
    const action = /<form[^>]*action="([^"]+)"/.exec(html)?.[1];
    if (action === undefined) throw new Error(`no form at ${page}: ${html.slice(0, 500)}`);
    const hidden = new Map<string, string>();
    for (const [, name = '', value = ''] of html.matchAll(/type="hidden" name="(\w+)" value="(\w+)"/g))
      hidden.set(name, value);
    const url = new URL(action.replaceAll('&amp;', '&'), page).href;
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...values });
    const response = await this.send(url, { method: 'POST', body });
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the form at ${page} responded with ${response.status}`);
    return new URL(location, url).href;
  }
}
