import type { ResponseReservation } from '../../db/pool/responseBudget.js';
import type { AppError } from '../../foundation/errors.js';

/** Counted together, since most texts are short. */
const STEP_CHARACTERS = 10_000;

/**
 * Counts the texts of a response as they are resolved: a field may have megabytes of them, and a request a hundred such fields. What
 * is refused is not kept until the others are there.
 */
export class ResponseTexts {
  #uncounted = 0;
  #refusal: AppError | undefined;

  /** @param mustRespond whether only the response's own size matters, and not what others hold */
  constructor(
    private readonly reservation: ResponseReservation,
    private readonly mustRespond: boolean,
  ) {}

  /** Throws AppError DOCUMENT_TOO_COMPLEX, TOO_BUSY. @param value of a field */
  add(value: unknown): void {
    if (typeof value === 'string') this.count(value.length);
    else if (Array.isArray(value))
      for (const item of value) if (typeof item === 'string') this.count(item.length);
  }

  /** Throws as `add` does. */
  count(characters: number): void {
    this.#uncounted += characters;
    if (this.#uncounted > STEP_CHARACTERS) {
      const refusal = this.reservation.take(this.#uncounted);
      this.#uncounted = 0;
      if (refusal && !(this.mustRespond && refusal.code === 'TOO_BUSY')) this.#refusal ??= refusal;
    }
    this.requireAll();
  }

  /** Throws AppError if some were refused. */
  requireAll(): void {
    if (this.#refusal) throw this.#refusal;
  }

  release(): void {
    this.reservation.release();
  }
}
