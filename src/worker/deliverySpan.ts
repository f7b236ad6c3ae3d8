import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import type { SendOutcome } from '../email/carriers/sending.js';
import {
  markFailed,
  SpanKind,
  traced,
  tracedFrom,
  traceparentOf,
  tracePast,
  type Span,
} from '../foundation/observability/tracing/tracing.js';

/**
 * Traces an attempt as part of the trace of its change, linked to its batch. Without a traced change it is part of the
 * batch's trace.
 */
export function tracedDelivery(
  delivery: LoadedDelivery,
  batch: Span | undefined,
  work: (span?: Span) => Promise<void>,
): Promise<void> {
  const { tenantid, deliveryid, ruleid, emailType, starts, traceparent } = delivery;
  // From the change to here; the batch's trace has the parts of it.
  if (starts === 0) tracePast(traceparent, 'outbox and queue', new Date(delivery.createtime));
  return tracedFrom(
    traceparent ?? traceparentOf(batch).traceparent,
    'delivery',
    {
      kind: SpanKind.CONSUMER,
      attributes: {
        'rowpost.tenant.id': tenantid,
        'rowpost.delivery.id': deliveryid,
        'rowpost.delivery.attempt': starts + 1,
        'rowpost.email.rule': ruleid,
        'rowpost.email.type': emailType,
      },
      links: batch ? [{ context: batch.spanContext() }] : [],
    },
    work,
  );
}

/** Traces a call to the carrier. */
export function tracedSend(
  parent: Span | undefined,
  carrier: string,
  send: (span?: Span) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  const attributes = { 'rowpost.carrier': carrier };
  return traced(parent, `send ${carrier}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const outcome = await send(span);
    span?.setAttribute('rowpost.send.outcome', outcome.kind);
    if ('httpStatus' in outcome && typeof outcome.httpStatus === 'number') {
      span?.setAttribute('http.response.status_code', outcome.httpStatus);
    }
    if (outcome.kind !== 'sent') markFailed(span, 'code' in outcome ? outcome.code : outcome.kind);
    return outcome;
  });
}
