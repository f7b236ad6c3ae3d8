import type { ServerResponse, IncomingMessage } from 'node:http';
import type { Span } from '../../foundation/observability/tracing/tracing.js';
import { randomBytes } from 'node:crypto';

/** Probes and scrapes, which arrive every few seconds. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);

export function isProbe(route: string): boolean {
  return PROBES.has(route);
}

/** What the log needs to know about a request besides its response. Filled in along the way; contains no values, URLs or secrets. */
export class RequestRecord {
  tenantid: number | undefined;
  roleid: number | undefined;
  /** What the client sent as the name of its GraphQL operation. */
  operation: string | undefined;
  /** The error code of the response. */
  code: string | undefined;
  /** The SQLSTATE behind it, such as 53100 for a full disk, or the name of a network error. */
  cause: string | undefined;
  /** The request's span. */
  span: Span | undefined;
  readonly startedAtMs = performance.now();

  constructor(
    readonly id: string,
    readonly method: string,
    /** A path without ids; see `routeOf`. */
    readonly route: string,
  ) {}

  setPrincipal({ tenantid, roleid }: { readonly tenantid: number; readonly roleid: number }): void {
    this.tenantid = tenantid;
    this.roleid = roleid;
  }
}

const RECORD = Symbol('request record');

type Recorded = ServerResponse & { [RECORD]?: RequestRecord };

export function setRecord(res: ServerResponse, record: RequestRecord): void {
  (res as Recorded)[RECORD] = record;
}

/** @returns undefined for a response that the server did not create, as in tests */
export function recordOf(res: ServerResponse): RequestRecord | undefined {
  return (res as Recorded)[RECORD];
}

const ACCEPTED = /^[\w.:-]{1,64}$/;
const processPart = randomBytes(6).toString('base64url');
let count = 0;

/** The caller's `X-Request-Id` if it is a plain token, otherwise a new one. */
export function requestIdOf(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && ACCEPTED.test(given)) return given;
  count += 1;
  return `${processPart}-${count.toString(36)}`;
}
