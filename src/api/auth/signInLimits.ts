import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Request, RequestHandler, Response } from 'express';
import type { Config } from '../../config.js';
import {
  countSignIns,
  removeSignInCounts,
  uncountSignIns,
  type Count,
} from '../../db/signIn/signInCounts.js';
import type { Database } from '../../db/connection/database.js';
import { AppError } from '../../errors.js';
import type { Logger } from '../../log.js';
import { visitorNetwork } from '../../networkAddress.js';
import type { Credentials } from './signIn.js';

const ADDRESS_WINDOW_SECONDS = 60;
const LOGIN_WINDOW_SECONDS = 900;
/** What each failure beyond `signInFailuresBeforeDelay` adds to the wait of the next attempt. */
const DELAY_STEP_MS = 50;
const MAX_DELAY_MS = 5_000;
const CLEANUP_MS = 60_000;

export interface SignInLimitsDeps {
  readonly database: Pick<Database, 'pool'>;
  readonly log: Logger;
  readonly config: Pick<Config, 'signInsPerAddress' | 'signInFailuresPerLogin' | 'signInFailuresBeforeDelay'>;
  /** For tests. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/**
 * How often one address may try to sign in, and how often one login may fail. Counted in PostgreSQL, for all web
 * processes together: when it is away nobody signs in anyway. Wrong guesses lock a login only for the address that they
 * come from; from many addresses they slow it, for whoever guesses on, but the one who knows the password gets in.
 */
export class SignInLimits {
  #cleanedAtMs = 0;

  constructor(private readonly deps: SignInLimitsDeps) {}

  /** Counts a request against its address. Fails with AppError RATE_LIMITED. */
  readonly byAddress: RequestHandler = async (req, res, next) => {
    const limit = this.deps.config.signInsPerAddress;
    if (limit > 0) {
      const counted = { key: keyOf('address', networkOf(req)), windowSeconds: ADDRESS_WINDOW_SECONDS };
      const [count] = await countSignIns(this.deps.database.pool, [counted]);
      this.#cleanUp();
      if (count && count.count > limit) throw limited(res, count);
    }
    next();
  };

  /**
   * Counts an attempt against its login, whether or not that exists, and takes it back when it succeeds: guesses that
   * run beside each other are counted as well. Throws AppError RATE_LIMITED and what the attempt throws.
   */
  async byLogin<T>(
    req: Request,
    res: Response,
    { tenantid, login }: Credentials,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { pool } = this.deps.database;
    const { signInFailuresPerLogin: mostHere, signInFailuresBeforeDelay: mostQuick } = this.deps.config;
    const here = keyOf('login and address', tenantid, login, networkOf(req));
    const everywhere = keyOf('login', tenantid, login);
    const [countHere, countEverywhere] = await countSignIns(
      pool,
      [here, everywhere].map((key) => ({ key, windowSeconds: LOGIN_WINDOW_SECONDS })),
    );
    if (mostHere > 0 && countHere && countHere.count > mostHere) {
      // What is not tried is no failure: one address can't slow the others.
      await uncountSignIns(pool, [everywhere]);
      throw limited(res, countHere);
    }
    const excess = (countEverywhere?.count ?? 0) - mostQuick;
    if (mostQuick > 0 && excess > 0) {
      await (this.deps.wait ?? delay)(Math.min(MAX_DELAY_MS, excess * DELAY_STEP_MS));
    }
    try {
      const result = await attempt();
      await uncountSignIns(pool, [here, everywhere]);
      return result;
    } catch (error) {
      // What was no wrong password, such as a database that is away, must not lock a login.
      if (!(error instanceof AppError) || error.code !== 'LOGIN_FAILED') {
        await uncountSignIns(pool, [here, everywhere]).catch((failure: unknown) => {
          this.deps.log.warn({ err: failure }, 'an attempt to sign in stays counted');
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
      this.deps.log.warn({ err: error }, 'counts of sign-ins were not removed');
    });
  }
}

function limited(res: Response, { msLeft }: Count): AppError {
  res.setHeader('retry-after', String(Math.max(1, Math.ceil(msLeft / 1000))));
  return new AppError('RATE_LIMITED', 'Too many attempts to sign in.');
}

/** A visitor may have a whole /64 of IPv6 addresses to try from. */
function networkOf(req: Request): string {
  return visitorNetwork(req.ip ?? '');
}

/** Of one size, whatever was sent. */
function keyOf(...parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
