import type { Logger } from '../log.js';
import type { Stoppable } from '../../lifecycle/shutdown.js';
import { readOptions, type Environment } from './tracingOptions.js';

/**
 * Traces this process if OpenTelemetry's standard variables enable it. The SDK, which is only loaded then, reads the other
 * variables itself: sampler, endpoint, headers, limits, resource. Throws ConfigError.
 */
export async function startTracing(env: Environment, processName: string, log: Logger): Promise<Stoppable> {
  const options = readOptions(env);
  if (!options) return { stop: () => Promise.resolve() };
  const { startSdk } = await import('./sdk.js');
  return startSdk(options, processName, log);
}
