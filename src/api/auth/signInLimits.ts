import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Request, RequestHandler } from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Config } from '../../config/config.js';
import {
  countSignIns,
  removeSignInCounts,
  uncountSignIns,
  type Count,
} from '../../db/roles/signIn/signInCounts.js';
import type { Database } from '../../db/pool/database.js';
import { AppError, rateLimited } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import type { Logger } from '../../foundation/observability/log.js';
import type { UnidentifiedTurns } from '../http/unidentifiedTurns.js';
import { clientAddress } from '../http/clientAddress.js';
import { consumePoint } from '../http/consumePoint.js';
import type { SignInEvents } from './signInEvents.js';
import type { Credentials } from './signIn.js';

const ADDRESS_WINDOW_SECONDS = 60;
const RESET_WINDOW_SECONDS = 3_600;
/** An office shares an address. */
const RESETS_PER_ADDRESS = 20;
const LOGIN_WINDOW_SECONDS = 900;
/** Delay added to the next attempt by each failure beyond `signInFailuresBeforeDelay`. */
const DELAY_STEP_MS = 50;
const MAX_DELAY_MS = 5_000;
const CLEANUP_MS = 60_000;
/**
 * Attempts that a process makes at a time. Each hashes a password in one of the four threads of Node.js, for a tenth of a second, and
 * those threads serve first come, first served: a burst from one address would be ahead of everybody for a minute.
 */
const ATTEMPTS = { max: 4, waiting: 1_000, waitMs: 60_000 };
const ATTEMPTS_OF_ADDRESS = { ...ATTEMPTS, max: Infinity, perTenant: 2 };

export interface SignInLimitsDeps {
  readonly database: Pick<Database, 'pool'>;
  readonly turns: Pick<UnidentifiedTurns, 'run'>;
  readonly log: Logger;
  readonly signInEvents: Pick<SignInEvents, 'note'>;
  readonly config: Pick<
    Config,
    'signInsPerAddress' | 'signInFailuresPerLogin' | 'signInFailuresBeforeDelay' | 'trustProxy'
  >;
  /** For tests. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/**
 * Rate limits for sign-in attempts per address and failures per login. Counted in PostgreSQL across all web processes,
 * since nobody can sign in without it anyway. Wrong guesses lock a login only for their own address; guesses from many
 * addresses slow down further attempts, but don't lock out the owner of the password.
 */
export class SignInLimits {
  #cleanedAtMs = 0;
  readonly #views: RateLimiterMemory | undefined;
  readonly #attempts = new TenantLimiter(ATTEMPTS);
  readonly #attemptsOfAddresses = new TenantLimiter<string>(ATTEMPTS_OF_ADDRESS);

  constructor(private readonly deps: SignInLimitsDeps) {
    this.#views = viewCounter(deps.config.signInsPerAddress);
  }

  /** Counts a request against its address. Fails with AppError RATE_LIMITED. */
  readonly byAddress: RequestHandler = async (req, _res, next) => {
    await this.#countAddress(req, 'address', ADDRESS_WINDOW_SECONDS, this.deps.config.signInsPerAddress);
    next();
  };

  /** Counts a request for a new password besides, which sends an email. Fails with AppError RATE_LIMITED. */
  readonly resetsByAddress: RequestHandler = async (req, _res, next) => {
    const limit = Math.min(RESETS_PER_ADDRESS, this.deps.config.signInsPerAddress);
    await this.#countAddress(req, 'resets of address', RESET_WINDOW_SECONDS, limit);
    next();
  };

  async #countAddress(req: Request, what: string, windowSeconds: number, limit: number): Promise<void> {
    if (limit === 0) return;
    const key = keyOf(what, clientAddress(req, this.deps.config.trustProxy));
    // All requests of an address change one row, and each waits for the one before.
    const [count] = await this.deps.turns.run(req, () =>
      countSignIns(this.deps.database.pool, [{ key, windowSeconds }]),
    );
    this.#cleanUp();
    if (count && count.count > limit) throw limited(count);
  }

  /**
   * Counts the view of a sign-in page against its address, in this process: it changes nothing, but reads from PostgreSQL what
   * sign-ins wait for. Fails with AppError RATE_LIMITED.
   */
  readonly viewsByAddress: RequestHandler = async (req, _res, next) => {
    if (this.#views)
      await consumePoint(this.#views, clientAddress(req, this.deps.config.trustProxy), TOO_MANY_ATTEMPTS);
    next();
  };

  /**
   * Counts an attempt against its login, whether or not that exists, and uncounts it on success, so that concurrent
   * guesses are counted too. Attempts wait for others of their address and tenant. Throws AppError RATE_LIMITED, TOO_BUSY and
   * whatever the attempt throws.
   */
  async byLogin<T>(req: Request, credentials: Credentials, attempt: () => Promise<T>): Promise<T> {
    try {
      return await this.#byLogin(req, credentials, attempt);
    } catch (error) {
      if (error instanceof AppError) {
        const { tenantid, login } = credentials;
        const address = clientAddress(req, this.deps.config.trustProxy);
        this.deps.signInEvents.note({ tenantid, kind: 'refused', login, reason: error.code, address });
      }
      throw error;
    }
  }

  async #byLogin<T>(req: Request, { tenantid, login }: Credentials, attempt: () => Promise<T>): Promise<T> {
    const { pool } = this.deps.database;
    const { signInFailuresPerLogin: maxFailuresHere, signInFailuresBeforeDelay: failuresBeforeDelay } =
      this.deps.config;
    const address = clientAddress(req, this.deps.config.trustProxy);
    const here = keyOf('login and address', tenantid, login, address);
    const everywhere = keyOf('login', tenantid, login);
    const keys = [here, everywhere].map((key) => ({ key, windowSeconds: LOGIN_WINDOW_SECONDS }));
    const [countHere, countEverywhere] = await this.deps.turns.run(req, () => countSignIns(pool, keys));
    if (maxFailuresHere > 0 && countHere && countHere.count > maxFailuresHere) {
      // A rejected attempt does not count as a failure, so one address can't slow down the others.
      await uncountSignIns(pool, [everywhere]);
      throw limited(countHere);
    }
    const excess = (countEverywhere?.count ?? 0) - failuresBeforeDelay;
    if (failuresBeforeDelay > 0 && excess > 0) {
      await (this.deps.wait ?? delay)(Math.min(MAX_DELAY_MS, excess * DELAY_STEP_MS));
    }
    try {
      const result = await this.#attemptsOfAddresses.run(address, () =>
        this.#attempts.run(tenantid, attempt),
      );
      await uncountSignIns(pool, [here, everywhere]);
      return result;
    } catch (error) {
      // Errors other than a wrong password, e.g. a database outage, must not lock a login.
      if (!(error instanceof AppError) || error.code !== 'LOGIN_FAILED') {
        await uncountSignIns(pool, [here, everywhere]).catch((failure: unknown) => {
          this.deps.log.warn({ err: failure }, 'a sign-in attempt could not be uncounted');
        });
      }
      throw error;
    }
  }

  #cleanUp(): void {
    const nowMs = performance.now();
    if (this.#cleanedAtMs > 0 && nowMs - this.#cleanedAtMs < CLEANUP_MS) return;
    this.#cleanedAtMs = nowMs;
    removeSignInCounts(this.deps.database.pool).catch((error: unknown) => {
      this.deps.log.warn({ err: error }, 'expired sign-in counters could not be removed');
    });
  }
}

function viewCounter(points: number): RateLimiterMemory | undefined {
  return points === 0 ? undefined : new RateLimiterMemory({ points, duration: ADDRESS_WINDOW_SECONDS });
}

const TOO_MANY_ATTEMPTS = 'Too many attempts to sign in.';

function limited({ msLeft }: Pick<Count, 'msLeft'>): AppError {
  return rateLimited(TOO_MANY_ATTEMPTS, msLeft);
}

/** A key of fixed size, whatever was sent. */
function keyOf(...parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
