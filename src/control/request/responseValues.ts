import type { ResponseReservation } from '../../db/pool/responseBudget.js';
import type { AppError } from '../../foundation/errors.js';

/** Counted together, since most values are short. */
const STEP_CHARACTERS = 10_000;
/** Of a value besides its name and its text, at least: what `requireResponseWithin` counts. */
const FIELD_CHARACTERS = 5;

/**
 * Counts the values of a response as they are resolved: a field may have megabytes of them, and a request a hundred such fields. Once
 * one is refused, no more are kept, and there is no response.
 */
export class ResponseValues {
  #uncounted = 0;
  #refusal: AppError | undefined;

  /** @param mustRespond whether only the response's own size matters, and not what others hold */
  constructor(
    private readonly reservation: ResponseReservation,
    private readonly mustRespond: boolean,
  ) {}

  /** @returns the value of a field; an empty one instead of one that doesn't fit, as an error for each would take more */
  keep(name: string | number, value: unknown): unknown {
    const fits = this.fits(String(name).length + FIELD_CHARACTERS + charactersOf(value));
    if (fits) return value;
    if (typeof value === 'string') return '';
    return Array.isArray(value) ? [] : value;
  }

  fits(characters: number): boolean {
    this.#uncounted += characters;
    if (this.#uncounted > STEP_CHARACTERS && !this.#refusal) {
      const refusal = this.reservation.reserve(this.#uncounted);
      this.#uncounted = 0;
      if (refusal && !(this.mustRespond && refusal.code === 'TOO_BUSY')) this.#refusal = refusal;
    }
    return this.#refusal === undefined;
  }

  /** Throws AppError DOCUMENT_TOO_COMPLEX, TOO_BUSY if some were refused. */
  requireAll(): void {
    if (this.#refusal) throw this.#refusal;
  }

  release(): void {
    this.reservation.release();
  }
}

/** Of a text, or of the texts in a list. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (!Array.isArray(value)) return 0;
  return value.reduce<number>((sum, item) => (typeof item === 'string' ? sum + item.length : sum), 0);
}
