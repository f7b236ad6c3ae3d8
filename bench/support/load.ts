import autocannon from 'autocannon';

/** One HTTP request repeated over keep-alive connections. */
export interface Load {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A fresh body per request, for loads that must not repeat themselves. */
  readonly nextBody?: () => string;
}

export interface Measured {
  readonly name: string;
  /** Requests per second, one figure a round. */
  readonly rates: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Runs the loads in turn, round after round, so that a noisy neighbor hurts all of them alike.
 * Throws when any response is not 2xx: a fast error is not a result.
 */
export async function measure(
  loads: readonly Load[],
  options: { readonly connections: number; readonly seconds: number; readonly rounds: number },
): Promise<readonly Measured[]> {
  const results = loads.map((load) => ({
    load,
    rates: [] as number[],
    p50: [] as number[],
    p99: [] as number[],
  }));
  for (const { load } of results) await run(load, options.connections, Math.min(2, options.seconds));
  for (let round = 0; round < options.rounds; round++) {
    for (const result of results) {
      const once = await run(result.load, options.connections, options.seconds);
      result.rates.push(once.rate);
      result.p50.push(once.p50Ms);
      result.p99.push(once.p99Ms);
    }
  }
  return results.map(({ load, rates, p50, p99 }) => ({
    name: load.name,
    rates,
    p50Ms: median(p50),
    p99Ms: median(p99),
  }));
}

async function run(load: Load, connections: number, seconds: number) {
  const { nextBody } = load;
  const result = await autocannon({
    url: load.url,
    connections,
    duration: seconds,
    method: load.body === undefined && !nextBody ? 'GET' : 'POST',
    headers: load.headers,
    ...(load.body === undefined ? {} : { body: load.body }),
    ...(nextBody
      ? {
          requests: [
            { method: 'POST' as const, setupRequest: (request) => ({ ...request, body: nextBody() }) },
          ],
        }
      : {}),
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${load.name}: ${result.non2xx} responses were not 2xx, ${result.errors} errors`);
  }
  return {
    rate: result.requests.total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}
