import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../config/config.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { rateLimited, type AppError } from '../../foundation/errors.js';
import type { Allowance } from '../../graphql/allowance.js';
import { clientAddress } from './clientAddress.js';

const WINDOW_SECONDS = 60;
/** Rejections are delayed, so that clients that retry immediately cost little. */
const REFUSAL_DELAY_MS = 1_000;
const MAX_DELAYED_REFUSALS = 1_000;

/** Counters of one kind; 0 means no limit. */
interface Counters {
  readonly ofTenant: RateLimiterMemory | undefined;
  readonly ofAddress: RateLimiterMemory | undefined;
  readonly refusal: { readonly message: string; readonly hint: string };
}

/**
 * Rate limits per minute for anonymous clients, which all share one role, and for what signed-in roles do to find out what
 * anonymous clients may not. Counted in memory, per tenant and, so that one client can't use up the others' share, per address.
 */
export class AnonymousLimits {
  readonly #requests: Counters;
  readonly #rows: Counters;
  readonly #roles: Counters;
  readonly #logins: Counters;
  #delayed = 0;

  constructor(private readonly config: Config) {
    const { anonymousRequestsPerAddress, anonymousRolesPerMinute, anonymousRolesPerAddress } = config;
    this.#requests = counters(
      config.anonymousRequestsPerMinute,
      anonymousRequestsPerAddress,
      ofAnonymous('requests'),
    );
    this.#rows = counters(config.anonymousRowsPerMinute, 0, ofAnonymous('rows'));
    this.#roles = counters(anonymousRolesPerMinute, anonymousRolesPerAddress, ofAnonymous('roles'));
    this.#logins = counters(anonymousRolesPerAddress, anonymousRolesPerAddress, OF_LOGINS);
  }

  /** Counts a request. @returns the anonymous client's write allowance; undefined for a signed-in role. Throws AppError RATE_LIMITED. */
  async admit(principal: Principal, req: IncomingMessage): Promise<Allowance | undefined> {
    if (!isAnonymous(principal)) return undefined;
    const tenant = String(principal.tenantid);
    const address = `${tenant} ${clientAddress(req, this.config.trustProxy)}`;
    try {
      await spend(this.#requests, tenant, address, 1);
    } catch (error) {
      await this.#delay();
      throw error;
    }
    return {
      spend: async (what, count) => {
        if (what !== 'logins')
          await spend(what === 'rows' ? this.#rows : this.#roles, tenant, address, count);
      },
    };
  }

  /**
   * The allowance of a signed-in role that may have signed up itself: whoever proposes a login learns whether it is taken. Per
   * role, as if each were a tenant, and per address.
   */
  ofRole({ tenantid, roleid, isAdmin }: Principal, req: IncomingMessage): Allowance | undefined {
    if (isAdmin) return undefined;
    return {
      spend: async (what, count) => {
        if (what !== 'logins') return;
        const address = `${tenantid} ${clientAddress(req, this.config.trustProxy)}`;
        await spend(this.#logins, `${tenantid} role ${roleid}`, address, count);
      },
    };
  }

  async #delay(): Promise<void> {
    if (this.#delayed >= MAX_DELAYED_REFUSALS) return;
    this.#delayed += 1;
    await delay(REFUSAL_DELAY_MS);
    this.#delayed -= 1;
  }
}

function counters(perTenant: number, perAddress: number, refusal: Counters['refusal']): Counters {
  const counter = (points: number): RateLimiterMemory | undefined =>
    points === 0 ? undefined : new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  return { ofTenant: counter(perTenant), ofAddress: counter(perAddress), refusal };
}

const ofAnonymous = (what: string): Counters['refusal'] => ({
  message: `Anonymous clients have used up their ${what} for this minute.`,
  hint: 'Sign in, or wait for the time given in Retry-After.',
});
const OF_LOGINS: Counters['refusal'] = {
  message: 'Too many logins were tried in this minute.',
  hint: 'Wait for the time given in Retry-After.',
};

/** Once the tenant's limit is reached, addresses are no longer counted, because their number is unbounded. */
async function spend(
  { ofTenant, ofAddress, refusal }: Counters,
  tenant: string,
  address: string,
  count: number,
): Promise<void> {
  const limited = ({ msBeforeNext }: RateLimiterRes): AppError =>
    rateLimited(refusal.message, msBeforeNext, refusal.hint);
  const spent = await ofTenant?.get(tenant);
  if (ofTenant && spent && spent.consumedPoints + count > ofTenant.points) throw limited(spent);
  try {
    await ofAddress?.consume(address, count);
    await ofTenant?.consume(tenant, count);
  } catch (error) {
    if (error instanceof RateLimiterRes) throw limited(error);
    throw error;
  }
}
