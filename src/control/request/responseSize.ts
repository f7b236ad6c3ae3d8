import { responseTooLarge } from '../../db/pool/responseBudget.js';
import { AppError } from '../../foundation/errors.js';

/** Same limit as templates. A row's own JSON may be deeper, and serializing it recurses. */
const MAX_LEVELS = 500;

/**
 * Throws AppError DOCUMENT_TOO_COMPLEX if a result is certainly too large as JSON, without serializing it (one long text
 * may occur under many aliases), or if it is nested too deeply.
 */
export function requireResponseWithin(data: unknown, maxBytes: number): void {
  let bytes = 0;
  const add = (value: unknown, levels: number): void => {
    if (levels > MAX_LEVELS) {
      throw new AppError('DOCUMENT_TOO_COMPLEX', `The response nests deeper than ${MAX_LEVELS} levels.`);
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
    if (bytes > maxBytes) throw responseTooLarge();
  };
  add(data, 0);
}
