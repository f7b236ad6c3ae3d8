import { WebFixture } from '../../api/webFixture.js';

/** A request whose numbers are texts: JSON.stringify would round them. */
export interface ExactRequest {
  readonly query: string;
  /** JSON text */
  readonly variables?: string;
}

export interface ExactResponse {
  readonly status: number;
  /** Not parsed: its digits are what counts. */
  readonly body: string;
}

type Send = (site: ExactSite, request: ExactRequest) => Promise<Response>;

const jsonBody = ({ query, variables = 'null' }: ExactRequest): string =>
  `{"query":${JSON.stringify(query)},"variables":${variables}}`;
const fields = ({ query, variables = '{}' }: ExactRequest): Record<string, string> => ({ query, variables });

/** How a request may travel. */
export const WAYS: Readonly<Record<string, Send>> = {
  'as JSON': (site, request) => site.post(jsonBody(request), 'application/json'),
  'as a string of JSON in JSON': (site, request) =>
    site.post(JSON.stringify(fields(request)), 'application/json'),
  'as a urlencoded form': (site, request) => site.post(new URLSearchParams(fields(request))),
  'as a multipart form': (site, request) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields(request))) form.set(name, value);
    return site.post(form);
  },
};

/** A tenant behind a whole web process, asked in texts. */
export class ExactSite {
  private constructor(
    readonly fixture: WebFixture,
    readonly tenantid: number,
    readonly token: string,
    private readonly path: string,
  ) {}

  static async open(ddl: string, env: Readonly<Record<string, string>> = {}): Promise<ExactSite> {
    const fixture = await WebFixture.start({ env });
    const { tenantid } = await fixture.createTenant('exact', ddl);
    const { access_token } = await fixture.signIn(tenantid);
    return new ExactSite(fixture, tenantid, access_token, '/query');
  }

  close(): Promise<void> {
    return this.fixture.stop();
  }

  /** The same tenant at another address. */
  at(path: string): ExactSite {
    return new ExactSite(this.fixture, this.tenantid, this.token, path);
  }

  post(body: string | URLSearchParams | FormData, type?: string): Promise<Response> {
    return this.fixture.fetch(this.path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.token}`, ...(type ? { 'content-type': type } : {}) },
      body,
    });
  }

  async ask(query: string, variables?: string, way = 'as JSON'): Promise<ExactResponse> {
    const send = WAYS[way];
    if (!send) throw new Error(`there is no way "${way}"`);
    const response = await send(this, { query, ...(variables === undefined ? {} : { variables }) });
    return { status: response.status, body: await response.text() };
  }

  async get(query: string, variables = '{}'): Promise<ExactResponse> {
    const search = new URLSearchParams({ query, variables }).toString();
    const response = await this.fixture.fetch(`${this.path}?${search}`, {
      headers: { authorization: `Bearer ${this.token}` },
    });
    return { status: response.status, body: await response.text() };
  }

  /** The first column of each row, as PostgreSQL prints it. */
  async texts(statement: string, values: unknown[] = []): Promise<(string | null)[]> {
    const { pool } = this.fixture.testDatabase.database;
    const { rows } = await pool.query<(string | null)[]>({ text: statement, values, rowMode: 'array' });
    return rows.map((row) => row[0] ?? null);
  }
}

/** JSON as a GraphQL literal. */
export function literalOf(json: string): string {
  return json.replace(/"(\w+)":/g, '$1:');
}
