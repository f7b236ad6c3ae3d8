import type { Principal } from '../../db/principal.js';
import type { TokenPair } from './tokens.js';

/** SDL and the JSON text of an introspection result. */
export interface SchemaDescription {
  readonly sdl: string;
  readonly introspectionJson: string;
}

export interface AuthBodyParts {
  readonly principal: Principal;
  readonly tokens: TokenPair;
  readonly baseUrl: string;
  /** The schema of `/query`. */
  readonly schema: SchemaDescription;
  /** The schema of `/roles_pbac`. */
  readonly controlSchema: SchemaDescription;
}

/** Schemas as JSON text, cached for as long as the engines keep them: a large one takes milliseconds to stringify. */
const rendered = new WeakMap<SchemaDescription, string>();

/** The response to a sign-in, as JSON text. */
export function composeAuthBody(parts: AuthBodyParts): string {
  const { principal, tokens, baseUrl } = parts;
  const head = JSON.stringify({
    ...tokens,
    message: `Logged in as ${principal.login ?? 'role ' + String(principal.roleid)}.`,
    roleid: principal.roleid,
    tenantid: principal.tenantid,
    routes: { base: `${baseUrl}/`, query: `${baseUrl}/query`, roles_pbac: `${baseUrl}/roles_pbac` },
  });
  return `${head.slice(0, -1)},"schema":${render(parts.schema)},"rpb_schema":${render(parts.controlSchema)}}`;
}

function render(description: SchemaDescription): string {
  let text = rendered.get(description);
  if (text === undefined) {
    text = `{"gql":${JSON.stringify(description.sdl)},"json":${description.introspectionJson}}`;
    rendered.set(description, text);
  }
  return text;
}
