import type { Request, RequestHandler, Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../config.js';
import { AppError } from '../../errors.js';
import type { Credentials } from './signIn.js';

const ADDRESS_WINDOW_SECONDS = 60;
const LOGIN_WINDOW_SECONDS = 900;

/**
 * How often one address may try to sign in, and how often one login may fail. Counted in this process's memory: an
 * installation with several web processes allows as many times more.
 */
export class SignInLimits {
  readonly #addresses: RateLimiterMemory | undefined;
  readonly #logins: RateLimiterMemory | undefined;

  constructor(config: Pick<Config, 'signInsPerAddress' | 'signInFailuresPerLogin'>) {
    this.#addresses = limiter(config.signInsPerAddress, ADDRESS_WINDOW_SECONDS);
    this.#logins = limiter(config.signInFailuresPerLogin, LOGIN_WINDOW_SECONDS);
  }

  /** Counts a request against its address. Fails with AppError RATE_LIMITED. */
  readonly byAddress: RequestHandler = async (req, res, next) => {
    await consume(this.#addresses, addressOf(req), res);
    next();
  };

  /**
   * Counts an attempt against its login, whether or not that exists, and takes it back when it succeeds: guesses that
   * run beside each other are counted as well. Throws AppError RATE_LIMITED and what the attempt throws.
   */
  async byLogin<T>(res: Response, { tenantid, login }: Credentials, attempt: () => Promise<T>): Promise<T> {
    const key = `${tenantid}:${login}`;
    await consume(this.#logins, key, res);
    try {
      const result = await attempt();
      await this.#logins?.reward(key);
      return result;
    } catch (error) {
      // What was no wrong password, such as a database that is away, must not lock a login.
      if (!(error instanceof AppError) || error.code !== 'LOGIN_FAILED') await this.#logins?.reward(key);
      throw error;
    }
  }
}

/** @returns undefined for 0, which means no limit. */
function limiter(points: number, duration: number): RateLimiterMemory | undefined {
  return points === 0 ? undefined : new RateLimiterMemory({ points, duration });
}

async function consume(limits: RateLimiterMemory | undefined, key: string, res: Response): Promise<void> {
  try {
    await limits?.consume(key);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    res.setHeader('retry-after', String(Math.ceil(error.msBeforeNext / 1000)));
    throw new AppError('RATE_LIMITED', 'Too many attempts to sign in.');
  }
}

/** One site has a whole /64 of IPv6 addresses to try from. */
function addressOf(req: Request): string {
  const address = req.ip ?? '';
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  return address.split('::', 1)[0]?.split(':').slice(0, 4).join(':') ?? address;
}
