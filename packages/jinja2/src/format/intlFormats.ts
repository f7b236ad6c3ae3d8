import { LRUCache } from 'lru-cache';
import { renderFault } from '../errors.js';
import type { Budget } from '../limits.js';

/** Formats of each kind. Creating one takes 20 to 100 µs, and it occupies some kilobytes outside the heap. */
const MAX_KEPT = 100;
/** The budget charged for creating one, in allocated characters. */
const COST = 5_000;
const MAX_NAME_CHARACTERS = 64;

/** @throws Fault for a currency that does not exist */
export const numberFormat = keeping<Intl.NumberFormatOptions, Intl.NumberFormat>(Intl.NumberFormat);

/** @throws Fault for a time zone that does not exist */
export const dateFormat = keeping<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>(Intl.DateTimeFormat);

function keeping<Options extends object, Format extends object>(
  Kind: new (locale: string, options: Options) => Format,
) {
  const kept = new LRUCache<string, Format>({ max: MAX_KEPT });
  return (locale: string, options: Options, budget: Budget): Format => {
    const key = `${locale} ${JSON.stringify(options)}`;
    let format = kept.get(key);
    if (!format) {
      budget.allocate(COST);
      try {
        format = new Kind(locale, options);
      } catch (error) {
        if (error instanceof RangeError) throw renderFault(error.message);
        throw error;
      }
      kept.set(key, format);
    }
    return format;
  };
}

/** Normalizes a locale: `de_AT` and `DE-at` become `de-AT`. Undefined if it is invalid. */
export function readLocale(text: string): string | undefined {
  if (text.length > MAX_NAME_CHARACTERS) return undefined;
  try {
    return Intl.getCanonicalLocales(text.trim().replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}
