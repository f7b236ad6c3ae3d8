import type { IncomingMessage, ServerResponse } from 'node:http';
import { markFailed, startRequestSpan } from '../../foundation/observability/tracing/tracing.js';
import { isProbe, type RequestRecord } from './requestRecord.js';

/** Begins the span of a request, as part of the caller's trace if there is one. */
export function beginSpan(record: RequestRecord, { headers }: IncomingMessage): void {
  const { id, method, route } = record;
  if (isProbe(route)) return;
  record.span = startRequestSpan(`${method} ${route}`, headers, {
    'http.request.method': method,
    'http.route': route,
    'rowpost.request.id': id,
  });
}

/** Ends the span, with the attributes of the request's log line. */
export function endSpan(
  { span, tenantid, roleid, operation, code }: RequestRecord,
  res: ServerResponse,
): void {
  if (!span) return;
  span.setAttribute('http.response.status_code', res.statusCode);
  if (tenantid !== undefined) span.setAttribute('rowpost.tenant.id', tenantid);
  if (roleid !== undefined) span.setAttribute('rowpost.role.id', roleid);
  if (operation !== undefined) span.setAttribute('graphql.operation.name', operation.slice(0, 64));
  if (res.statusCode >= 500) markFailed(span, code ?? String(res.statusCode));
  else if (code !== undefined) span.setAttribute('error.type', code);
  span.end();
}
