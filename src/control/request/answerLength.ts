import { AppError } from '../../errors.js';

/** As `/query` says it. */
function answerTooLarge(): AppError {
  return new AppError('DOCUMENT_TOO_COMPLEX', 'The answer is larger than MAX_ANSWER_BYTES.');
}

/**
 * Throws AppError DOCUMENT_TOO_COMPLEX when a result is certainly larger as JSON than the bound, without composing it:
 * one long text may stand in it under many aliases.
 */
export function requireAnswerWithin(data: unknown, mostBytes: number): void {
  let bytes = 0;
  const add = (value: unknown): void => {
    if (typeof value === 'string') bytes += value.length + 2;
    else if (typeof value !== 'object' || value === null) bytes += 1;
    else if (Array.isArray(value)) for (const item of value) add(item);
    else {
      for (const [key, item] of Object.entries(value)) {
        bytes += key.length + 4;
        add(item);
      }
    }
    if (bytes > mostBytes) throw answerTooLarge();
  };
  add(data);
}
