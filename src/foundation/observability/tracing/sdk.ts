import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import type { Logger } from '../log.js';
import { startOutage } from '../outage.js';
import type { Stoppable } from '../../lifecycle/shutdown.js';
import { sampleRoots } from './tracing.js';
import type { TracingOptions } from './tracingOptions.js';

/** A collector that does not respond must not delay the shutdown. */
const FLUSH_MS = 2_000;

/** Registers OpenTelemetry's SDK for the whole process. The SDK reads the sampler from the environment, unless there is a ratio. */
export function startSdk(options: TracingOptions, processName: string, log: Logger): Stoppable {
  const diagnostics = (message: string): void => log.warn({ from: 'opentelemetry' }, message);
  const ignored = (): void => undefined;
  diag.setLogger(
    { error: diagnostics, warn: diagnostics, info: ignored, debug: ignored, verbose: ignored },
    DiagLogLevel.WARN,
  );
  // Export failures are logged once per outage, below.
  setGlobalErrorHandler(ignored);
  const provider = new NodeTracerProvider({
    // Unsampled work doesn't get this far.
    ...(options.ratio === undefined
      ? {}
      : { sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }) }),
    resource: resourceFromAttributes({
      'service.name': `rowpost-${processName}`,
      'service.namespace': 'rowpost',
      'service.instance.id': `${hostname()}-${process.pid}`,
      'process.pid': process.pid,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(toldOutages(openExporter(options), log))],
  });
  // No async context: spans are arguments.
  provider.register({ contextManager: null });
  sampleRoots(options.ratio ?? 1);
  log.info(options, 'tracing');
  return {
    async stop() {
      await Promise.race([provider.shutdown().catch(ignored), delay(FLUSH_MS, undefined, { ref: false })]);
    },
  };
}

function openExporter({ exporter, protocol }: TracingOptions): SpanExporter {
  if (exporter === 'console') return new ConsoleSpanExporter();
  return protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
}

/** Logs when the collector stops accepting spans, and when it accepts them again; they are dropped in between. */
function toldOutages(exporter: SpanExporter, log: Logger): SpanExporter {
  const outage = startOutage(log, 'the OpenTelemetry collector');
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) outage.recovered();
        else outage.failed(result.error);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
