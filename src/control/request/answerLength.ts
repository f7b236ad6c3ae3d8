import { AppError } from '../../errors.js';

/** As `/query` says it. */
function answerTooLarge(): AppError {
  return new AppError('DOCUMENT_TOO_COMPLEX', 'The answer is larger than MAX_ANSWER_BYTES.');
}

/** Same limit as templates. A row's own JSON may be deeper, and serializing it recurses. */
const MAX_LEVELS = 500;

/**
 * Throws AppError DOCUMENT_TOO_COMPLEX when a result is certainly larger as JSON than the bound, without composing it:
 * one long text may stand in it under many aliases. The same for one that nests too deep.
 */
export function requireAnswerWithin(data: unknown, maxBytes: number): void {
  let bytes = 0;
  const add = (value: unknown, levels: number): void => {
    if (levels > MAX_LEVELS) {
      throw new AppError('DOCUMENT_TOO_COMPLEX', `The answer nests deeper than ${MAX_LEVELS} levels.`);
    }
    if (typeof value === 'string') bytes += value.length + 2;
    else if (typeof value !== 'object' || value === null) bytes += 1;
    else if (Array.isArray(value)) for (const item of value) add(item, levels + 1);
    else {
      for (const [key, item] of Object.entries(value)) {
        bytes += key.length + 4;
        add(item, levels + 1);
      }
    }
    if (bytes > maxBytes) throw answerTooLarge();
  };
  add(data, 0);
}
