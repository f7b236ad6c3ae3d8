import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { introspectionFromSchema, printSchema } from 'graphql';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { buildDataSchema } from '../../graphql/schema/dataSchema.js';
import { sendResponse, onResponseClosed } from '../http/sendResponse.js';
import { recordOf } from '../http/requestRecord.js';
import type { WebDeps } from '../http/webDeps.js';
import type { TokenOrigin, Tokens } from './tokens.js';

/**
 * @param origin the session, or what it is of the refresh token
 * Throws AppError TOO_BUSY while the tenant's unread responses take too much memory.
 */
export type SignInResponder = (
  res: ServerResponse,
  principal: Principal,
  origin: TokenOrigin,
) => Promise<void>;

const HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** Issues tokens and sends the response common to all ways of signing in. */
export function createSignInResponder({ config, engine, control }: WebDeps, tokens: Tokens): SignInResponder {
  const { baseUrl } = config;
  const routes = { base: `${baseUrl}/`, query: `${baseUrl}/query`, roles_pbac: `${baseUrl}/roles_pbac` };
  const withoutTables = describeEmpty();
  return async (res, principal, origin) => {
    recordOf(res)?.setPrincipal(principal);
    const { tenantid, roleid, login, schema } = principal;
    const [issued, tables] = await Promise.all([
      tokens.issuePair(principal, originOf(principal, origin)),
      // The installation's own roles have no tables.
      schema === null ? withoutTables : engine.describe(tenantid, schema, principal),
    ]);
    const message = `Logged in as ${login ?? `role ${roleid}`}.`;
    const head = JSON.stringify({ ...issued, message, roleid, tenantid, routes });
    const schemas = `"schema":${jsonOf(tables)},"rpb_schema":${jsonOf(control.describe())}`;
    const body = `${head.slice(0, -1)},${schemas}}`;
    // It contains the schema, and may be large.
    const { reserve, release } = engine.responses.open(tenantid);
    const refusal = reserve(body.length);
    onResponseClosed(res, release);
    if (refusal?.code === 'TOO_BUSY') throw refusal;
    sendResponse(res, 200, HEADERS, body, config);
  };
}

/** All anonymous clients are one role, so each keeps an id through all refreshes. */
function originOf(
  principal: Principal,
  { authTimeMs, actors, sessionid, client = randomUUID() }: TokenOrigin,
): TokenOrigin {
  return { authTimeMs, actors, sessionid, ...(isAnonymous(principal) ? { client } : {}) };
}

/** SDL and the JSON text of an introspection result. */
type Description = ReturnType<WebDeps['control']['describe']>;

function describeEmpty(): Description {
  const schema = buildDataSchema({ version: '', schema: '', tables: new Map(), problems: [] });
  return {
    sdl: printSchema(schema),
    introspectionJson: JSON.stringify(introspectionFromSchema(schema)),
  };
}

/** Schemas as JSON text, cached for as long as the engines keep them: a large one takes milliseconds to stringify. */
const rendered = new WeakMap<Description, string>();

function jsonOf(description: Description): string {
  let text = rendered.get(description);
  if (text === undefined) {
    text = `{"gql":${JSON.stringify(description.sdl)},"json":${description.introspectionJson}}`;
    rendered.set(description, text);
  }
  return text;
}
