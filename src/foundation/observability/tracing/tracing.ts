import {
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';

export { SpanKind, type Span } from '@opentelemetry/api';

// Spans are passed as arguments, and only sampled ones: OpenTelemetry's async context would take a third of a request's
// CPU time on Node.js 20, sampled or not.

const tracer = trace.getTracer('rowpost');

/** A W3C `traceparent`: the trace that work in another process continues. */
type Traceparent = string | null | undefined;

let rootRatio = 0;

/**
 * Sets the share of new traces that are sampled. The decision is made before a span is created: creating one only for the
 * SDK's sampler to reject it takes 5 % of a request's CPU time.
 */
export function sampleRoots(ratio: number): void {
  rootRatio = ratio;
}

/** Begins the span of an HTTP request, to be ended with `Span.end`; undefined if it is not sampled. */
export function startRequestSpan(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  attributes: Attributes,
): Span | undefined {
  return begin(name, { kind: SpanKind.SERVER, attributes }, headers);
}

/** Traces a part of sampled work. */
export function traced<T>(
  parent: Span | undefined,
  name: string,
  options: SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  if (!parent) return work();
  return run(tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent)), work);
}

/** Traces work caused by another process, as part of the trace that it passed on or as a new trace. */
export function tracedFrom<T>(
  traceparent: Traceparent,
  name: string,
  options: SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  const span = begin(name, options, { traceparent });
  return span ? run(span, work) : work();
}

/** Traces a past interval: how long work waited. Only as part of a trace that was passed on. */
export function tracePast(traceparent: Traceparent, name: string, startTime: Date): void {
  if (traceparent) begin(name, { startTime }, { traceparent })?.end();
}

/** For log lines, to find their trace. */
export function traceIdOf(span: Span | undefined): { readonly trace_id?: string } {
  return span ? { trace_id: span.spanContext().traceId } : {};
}

/** What work in other processes continues; also the header for calls to other servers. */
export function traceparentOf(span: Span | undefined): { readonly traceparent?: string } {
  if (!span) return {};
  const { traceId, spanId, traceFlags } = span.spanContext();
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  return { traceparent: `00-${traceId}-${spanId}-${flags}` };
}

/** Marks a span as failed. @param type a code, not a message: messages contain tenants' data */
export function markFailed(span: Span | undefined, type: string): void {
  span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** @param carrier may contain the `traceparent` of the span's parent */
function begin(
  name: string,
  options: SpanOptions,
  carrier: Readonly<Record<string, unknown>>,
): Span | undefined {
  const parent = carrier['traceparent'] == null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, carrier);
  if (!trace.getSpanContext(parent) && Math.random() >= rootRatio) return undefined;
  const span = tracer.startSpan(name, options, parent);
  return span.isRecording() ? span : undefined;
}

async function run<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await work(span);
  } catch (error) {
    const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
    markFailed(span, typeof code === 'string' ? code : String(name));
    throw error;
  } finally {
    span.end();
  }
}
