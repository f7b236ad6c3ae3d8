import { renderFault } from '../errors.js';
import type { Budget } from '../limits.js';

/** Creating one takes 20 to 100 µs, and it occupies some kilobytes outside the heap. */
const MAX_KEPT = 100;
/** The budget charged for creating one, in allocated characters. */
const COST = 5_000;
const MAX_NAME_CHARACTERS = 64;

const kept = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** @throws Fault for a currency that does not exist */
export function numberFormat(
  locale: string,
  options: Intl.NumberFormatOptions,
  budget: Budget,
): Intl.NumberFormat {
  return keptFormat(
    locale,
    options,
    budget,
    () => new Intl.NumberFormat(locale, options),
  ) as Intl.NumberFormat;
}

/** @throws Fault for a time zone that does not exist */
export function dateFormat(
  locale: string,
  options: Intl.DateTimeFormatOptions,
  budget: Budget,
): Intl.DateTimeFormat {
  return keptFormat(
    locale,
    options,
    budget,
    () => new Intl.DateTimeFormat(locale, options),
  ) as Intl.DateTimeFormat;
}

function keptFormat(
  locale: string,
  options: object,
  budget: Budget,
  make: () => Intl.NumberFormat | Intl.DateTimeFormat,
): Intl.NumberFormat | Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`;
  let format = kept.get(key);
  if (!format) {
    budget.allocate(COST);
    try {
      format = make();
    } catch (error) {
      if (error instanceof RangeError) throw renderFault(error.message);
      throw error;
    }
    const [oldest] = kept.keys();
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, format);
  }
  return format;
}

/** Normalises a locale: `de_AT` and `DE-at` become `de-AT`. Undefined if it is invalid. */
export function readLocale(text: string): string | undefined {
  if (text.length > MAX_NAME_CHARACTERS) return undefined;
  try {
    return Intl.getCanonicalLocales(text.trim().replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}
