import { MAX_CONTEXT_CHARACTERS } from 'rowpost-jinja2';
import { AppError } from '../foundation/errors.js';

/** Results of an email's queries: they count as responses in flight until it is composed, and templates take no more than this. */
export class HeldResults {
  readonly #releases: (() => void)[] = [];
  #characters = 0;

  /** Throws AppError DOCUMENT_TOO_COMPLEX. */
  readonly hold = (json: string, release: () => void): void => {
    this.#characters += json.length;
    if (this.#characters > MAX_CONTEXT_CHARACTERS)
      throw new AppError(
        'DOCUMENT_TOO_COMPLEX',
        `The queries have results of more than ${MAX_CONTEXT_CHARACTERS} characters in total.`,
        { hint: 'Select fewer rows and fields.' },
      );
    this.#releases.push(release);
  };

  release(): void {
    for (const release of this.#releases.splice(0)) release();
    this.#characters = 0;
  }
}
