import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';

// Without `startTracing` no span records anything, and each of these functions is a few calls that do nothing.

const tracer = trace.getTracer('rowpost');

/** A W3C `traceparent`: the trace that work in another process continues. */
type Traceparent = string | null | undefined;

/** Begins the span of an HTTP request, to be ended by `Span.end`; undefined if it is not sampled. */
export function startRequestSpan(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  attributes: Attributes,
): Span | undefined {
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
  return span.isRecording() ? span : undefined;
}

/** Does the work as part of the span. */
export function within<T>(span: Span | undefined, work: () => T): T {
  return span ? context.with(trace.setSpan(ROOT_CONTEXT, span), work) : work();
}

/** Traces a part of sampled work: outside of it there is no span. */
export function traced<T>(name: string, options: SpanOptions, work: (span?: Span) => Promise<T>): Promise<T> {
  if (!activeSpan()) return work();
  return run(tracer.startSpan(name, options), work);
}

/** Traces work that another process caused: as part of the trace that it passed on, or of a trace of its own. */
export function tracedFrom<T>(
  traceparent: Traceparent,
  name: string,
  options: SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.startSpan(name, options, contextOf(traceparent));
  return span.isRecording() ? run(span, work) : context.with(ROOT_CONTEXT, work);
}

/** Traces what is over: the time that work waited. Only as part of a trace that was passed on. */
export function tracePast(traceparent: Traceparent, name: string, startTime: Date): void {
  if (traceparent) tracer.startSpan(name, { startTime }, contextOf(traceparent)).end();
}

/** The span that this code runs in; undefined outside of sampled work. */
export function activeSpan(): Span | undefined {
  const span = trace.getActiveSpan();
  return span?.isRecording() === true ? span : undefined;
}

/** For the log: what finds a line's trace. */
export function traceIdOf(span: Span | undefined): { readonly trace_id?: string } {
  return span ? { trace_id: span.spanContext().traceId } : {};
}

/** What work in other processes continues: the span that this code runs in. Undefined outside of sampled work. */
export function currentTraceparent(): string | undefined {
  const span = activeSpan();
  if (!span) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')}`;
}

/** The header by which a server that is called continues the trace. */
export function traceHeaders(): { readonly traceparent?: string } {
  const traceparent = currentTraceparent();
  return traceparent === undefined ? {} : { traceparent };
}

/** Marks a span as failed. @param type a code, not a text: texts hold tenants' data */
export function markFailed(span: Span | undefined, type: string): void {
  span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

function contextOf(traceparent: Traceparent): Context {
  return traceparent ? propagation.extract(ROOT_CONTEXT, { traceparent }) : ROOT_CONTEXT;
}

async function run<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await context.with(trace.setSpan(ROOT_CONTEXT, span), () => work(span));
  } catch (error) {
    const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
    markFailed(span, typeof code === 'string' ? code : String(name));
    throw error;
  } finally {
    span.end();
  }
}
