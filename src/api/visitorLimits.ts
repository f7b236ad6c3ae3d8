import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../config.js';
import { isNobody, type Principal } from '../db/principal.js';
import { rateLimited, type AppError } from '../errors.js';
import type { Allowance } from '../graphql/allowance.js';
import { clientAddress } from './http/clientAddress.js';

const WINDOW_SECONDS = 60;
/** Rejections are delayed, so that visitors who retry immediately cost little. */
const REFUSAL_DELAY_MS = 1_000;
const MAX_DELAYED_REFUSALS = 1_000;

/** Counters of one kind; 0 means no limit. */
interface Counters {
  readonly ofTenant: RateLimiterMemory | undefined;
  readonly ofAddress: RateLimiterMemory | undefined;
}

/**
 * Rate limits per minute for anonymous visitors, who all share one role. Counted in memory, per tenant and, so that one
 * visitor can't use up the others' share, per address.
 */
export class VisitorLimits {
  readonly #requests: Counters;
  readonly #rows: Counters;
  readonly #roles: Counters;
  #delayed = 0;

  constructor(private readonly config: Config) {
    this.#requests = counters(config.nobodyRequestsPerMinute, config.nobodyRequestsPerAddress);
    this.#rows = counters(config.nobodyRowsPerMinute, 0);
    this.#roles = counters(config.nobodyRolesPerMinute, config.nobodyRolesPerAddress);
  }

  /** Counts a request. @returns the visitor's write allowance; undefined for a signed-in role. Throws AppError RATE_LIMITED. */
  async admit(principal: Principal, req: IncomingMessage): Promise<Allowance | undefined> {
    if (!isNobody(principal)) return undefined;
    const tenant = String(principal.tenantid);
    const address = `${tenant} ${clientAddress(req, this.config.trustProxy)}`;
    try {
      await spend(this.#requests, tenant, address, 1, 'requests');
    } catch (error) {
      await this.#delay();
      throw error;
    }
    return {
      spend: (what, count) => spend(what === 'rows' ? this.#rows : this.#roles, tenant, address, count, what),
    };
  }

  async #delay(): Promise<void> {
    if (this.#delayed >= MAX_DELAYED_REFUSALS) return;
    this.#delayed += 1;
    await delay(REFUSAL_DELAY_MS);
    this.#delayed -= 1;
  }
}

function counters(perTenant: number, perAddress: number): Counters {
  const counter = (points: number): RateLimiterMemory | undefined =>
    points === 0 ? undefined : new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  return { ofTenant: counter(perTenant), ofAddress: counter(perAddress) };
}

/** Once the tenant's limit is reached, addresses are no longer counted, because their number is unbounded. */
async function spend(
  { ofTenant, ofAddress }: Counters,
  tenant: string,
  address: string,
  count: number,
  what: string,
): Promise<void> {
  const spent = await ofTenant?.get(tenant);
  if (ofTenant && spent && spent.consumedPoints + count > ofTenant.points) throw limited(spent, what);
  await consume(ofAddress, address, count, what);
  await consume(ofTenant, tenant, count, what);
}

async function consume(
  counter: RateLimiterMemory | undefined,
  key: string,
  count: number,
  what: string,
): Promise<void> {
  try {
    await counter?.consume(key, count);
  } catch (error) {
    if (error instanceof RateLimiterRes) throw limited(error, what);
    throw error;
  }
}

function limited({ msBeforeNext }: RateLimiterRes, what: string): AppError {
  return rateLimited(
    `Anonymous visitors have used up their ${what} for this minute.`,
    msBeforeNext,
    'Sign in, or wait for the time given in Retry-After.',
  );
}
