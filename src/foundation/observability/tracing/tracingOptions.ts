import { ConfigError } from '../../errors.js';
import { ownValue } from '../../ownValue.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const EXPORTERS = ['otlp', 'console', 'none'] as const;
const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** How spans are exported. */
export interface TracingOptions {
  readonly exporter: 'otlp' | 'console';
  readonly protocol: (typeof PROTOCOLS)[number];
  /** The sampling ratio of new traces if `OTEL_TRACES_SAMPLER` is `parentbased_traceidratio`; with other samplers the SDK decides. */
  readonly ratio?: number;
}

/** @returns undefined if tracing is off */
export function readOptions(env: Environment): TracingOptions | undefined {
  const given = (name: string): string | undefined => ownValue(env, name)?.trim() || undefined;
  if (given('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const hasEndpoint =
    given('OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined ||
    given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== undefined;
  const exporter = oneOf(
    'OTEL_TRACES_EXPORTER',
    EXPORTERS,
    given('OTEL_TRACES_EXPORTER') ?? (hasEndpoint ? 'otlp' : 'none'),
  );
  if (exporter === 'none') return undefined;
  const variable = 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const protocol = given('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? given(variable) ?? 'http/protobuf';
  const ratio = Number(given('OTEL_TRACES_SAMPLER_ARG'));
  const isRatio = given('OTEL_TRACES_SAMPLER') === 'parentbased_traceidratio' && ratio >= 0 && ratio <= 1;
  return { exporter, protocol: oneOf(variable, PROTOCOLS, protocol), ...(isRatio ? { ratio } : {}) };
}

function oneOf<T extends string>(variable: string, choices: readonly T[], value: string): T {
  const choice = choices.find((each) => each === value);
  if (choice === undefined) throw new ConfigError([`${variable} must be one of ${choices.join(', ')}`]);
  return choice;
}
