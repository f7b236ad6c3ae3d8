import { UsageError } from '../../foundation/errors.js';

/** A role's access to a running Rowpost, exclusively over HTTP. */
export interface Client {
  readonly token: string;
  /** Runs a document on the tenant's tables. @returns `data` */
  query<T>(document: string, variables?: Variables): Promise<T>;
  /** Runs a document on the control objects. @returns `data` */
  rolesPbac<T>(document: string, variables?: Variables): Promise<T>;
  /** Uploads bytes to an upload URL. */
  put(address: string, body: string): Promise<void>;
}

type Variables = Readonly<Record<string, unknown>>;

export interface Credentials {
  readonly login: string;
  readonly password: string;
  readonly tenantid: number;
}

interface AuthBody {
  readonly access_token: string;
}

interface GraphqlBody {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string }[];
}

/** Signs in with POST /auth. Throws UsageError: the installation is from a start with another password. */
export async function signIn(baseUrl: string, credentials: Credentials): Promise<Client> {
  const auth = (await post(`${baseUrl}/auth`, credentials).catch((error: unknown) => {
    throw new UsageError(
      `the demo can't sign in as ${credentials.login} (${(error as Error).message}): start it with the PXADMIN_PASSWORD of its first start, or with another ROWPOST_DATA_DIR`,
    );
  })) as AuthBody;
  const run = async (route: string, document: string, variables: Variables): Promise<unknown> => {
    const body = (await post(
      `${baseUrl}${route}`,
      { query: document, variables },
      auth.access_token,
    )) as GraphqlBody;
    const [error] = body.errors ?? [];
    if (error) throw new Error(`${route} responded: ${error.message}\n${document}`);
    return body.data;
  };
  return {
    token: auth.access_token,
    query: async <T>(document: string, variables: Variables = {}) =>
      (await run('/query', document, variables)) as T,
    rolesPbac: async <T>(document: string, variables: Variables = {}) =>
      (await run('/roles_pbac', document, variables)) as T,
    put: async (address, body) => {
      // BASE_URL may not be reachable from this machine.
      const response = await fetch(`${baseUrl}${new URL(address).pathname}`, { method: 'PUT', body });
      if (!response.ok) throw new Error(`the upload failed: ${await response.text()}`);
    },
  };
}

async function post(url: string, body: unknown, token?: string): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const reply = (await response.json()) as { error?: unknown };
  if (typeof reply.error === 'string') throw new Error(`${new URL(url).pathname} responded: ${reply.error}`);
  return reply;
}
