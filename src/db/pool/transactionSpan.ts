import type { AppError } from '../../foundation/errors.js';
import {
  markFailed,
  SpanKind,
  traced,
  traceparentOf,
  type Span,
} from '../../foundation/observability/tracing/tracing.js';

/** Characters, enough to identify a statement. With 1,500, exporting them is a fifth of the cost of a traced request. */
const MAX_TEXT = 512;

interface TracedRequest {
  readonly mode: 'read' | 'write';
  readonly tenantid: number | null;
  readonly span?: Span | undefined;
  readonly statements: readonly { readonly statement: { readonly text: string } }[];
}

/** Traces a transaction, including its wait for a connection. `run` receives the traceparent to store with a write's events. */
export function tracedTransaction<
  T extends { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: AppError },
>(request: TracedRequest, run: (traceparent?: string) => Promise<T>): Promise<T> {
  const { mode, tenantid, statements, span: parent } = request;
  if (!parent) return run();
  // The texts contain no values: all are parameters.
  const text = statements.map(({ statement }) => statement.text).join(';\n');
  const attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': mode,
    'db.operation.batch.size': statements.length,
    'db.query.text': text.slice(0, MAX_TEXT),
    ...(tenantid === null ? {} : { 'rowpost.tenant.id': tenantid }),
  };
  return traced(parent, `transaction ${mode}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const outcome = await run(mode === 'write' ? traceparentOf(span).traceparent : undefined);
    if (outcome.kind === 'failed') markFailed(span, outcome.error.code);
    return outcome;
  });
}
