import { RateLimiterRes, type RateLimiterMemory } from 'rate-limiter-flexible';
import { rateLimited } from '../../foundation/errors.js';

/** Counts one point of a limiter, or several. Throws AppError RATE_LIMITED with this message. */
export async function consumePoint(
  limiter: RateLimiterMemory,
  key: string,
  message: string,
  points = 1,
): Promise<void> {
  try {
    await limiter.consume(key, points);
  } catch (error) {
    throw error instanceof RateLimiterRes ? rateLimited(message, error.msBeforeNext) : error;
  }
}
