import { renderFault } from '../errors.js';
import { readDateText, type DateText } from '../format/dateText.js';
import { dateFormat, numberFormat, readLocale } from '../format/intlFormats.js';
import type { Evaluation } from '../values/callable.js';
import { Decimal } from '../values/decimal.js';
import { asInteger, asNumber, parseFloatText } from '../values/numbers.js';
import { isText, textOf, typeName, Undefined, type Value } from '../values/value.js';
import { filter, filterTable, indexArgument, textArgument, textInput } from './filter.js';

const DEFAULT_LOCALE = 'en';
const DEFAULT_TIME_ZONE = 'UTC';
/** Beyond this, Intl rounds or prints ∞. */
const MAX_PLACES = 20;
const MAX_DIGITS = 300;
/**
 * Some versions of Intl's data round these to whole units, and Node.js brings any version: an amount must neither lose its cents nor
 * depend on that.
 */
const PLACES: ReadonlyMap<string, number> = new Map(
  ['COP', 'HUF', 'IDR', 'PKR', 'RSD'].map((code) => [code, 2]),
);

type Argument = Value | undefined;

/** The argument, or else the context's locale, which is data and may be invalid. @throws Fault for an invalid argument */
function localeOf(argument: Argument, evaluation: Evaluation): string {
  if (isGiven(argument)) {
    const text = textArgument(argument, 'locale');
    const locale = readLocale(text);
    if (locale === undefined) throw renderFault(`"${text.slice(0, 40)}" is no locale, such as de or pt-BR`);
    return locale;
  }
  const value = evaluation.contextValue('locale');
  return (value !== undefined && isText(value) ? readLocale(textOf(value)) : undefined) ?? DEFAULT_LOCALE;
}

/** UTC if the context has no time zone. */
function timeZoneOf(argument: Argument, evaluation: Evaluation): string {
  if (isGiven(argument)) return textArgument(argument, 'timezone');
  const value = evaluation.contextValue('timezone');
  return value !== undefined && isText(value) && textOf(value) !== '' ? textOf(value) : DEFAULT_TIME_ZONE;
}

const isGiven = (argument: Argument): argument is Value =>
  argument !== undefined && argument !== null && !(argument instanceof Undefined);

/** Missing and null values print as nothing; in strict templates, missing ones have already failed. */
const isNothing = (input: Value): boolean =>
  input === null || input instanceof Undefined || (isText(input) && textOf(input).trim() === '');

interface Digits {
  /** In the form that Intl parses exactly. */
  readonly text: string;
  readonly places: number;
}

/** @throws Fault unless the input is a finite number */
function digitsOf(input: Value, name: string, evaluation: Evaluation): Digits {
  const number = numberOf(input, evaluation);
  if (number === undefined) throw renderFault(`${name} needs a number, not ${describe(input)}`);
  const places = Math.max(0, -number.exponent);
  if (number.adjusted > MAX_DIGITS || places > MAX_DIGITS)
    throw renderFault(`${name} takes numbers of at most ${MAX_DIGITS} digits`);
  const sign = number.isNegative ? '-' : '';
  return { text: `${sign}${number.digitText}e${number.exponent}`, places };
}

function numberOf(input: Value, evaluation: Evaluation): Decimal | undefined {
  if (input instanceof Decimal) return input;
  const integer = typeof input === 'boolean' ? undefined : asInteger(input);
  if (integer !== undefined) return Decimal.of(integer);
  if (isText(input)) {
    const text = textOf(textInput(input, evaluation)).trim();
    return /^-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?$/i.test(text) && parseFloatText(text) !== undefined
      ? Decimal.parse(text)
      : undefined;
  }
  const number = typeof input === 'boolean' ? undefined : asNumber(input);
  return number !== undefined && Number.isFinite(number) ? Decimal.parse(String(number)) : undefined;
}

function describe(input: Value): string {
  return isText(input) ? `"${textOf(input).slice(0, 40)}"` : typeName(input);
}

/** @throws Fault for more than Intl can print */
function placesOf(argument: Argument): number | undefined {
  if (!isGiven(argument)) return undefined;
  const places = indexArgument(argument);
  if (places >= 0 && places <= MAX_PLACES) return places;
  throw renderFault(`decimals must be from 0 to ${MAX_PLACES}`);
}

function fixedPlaces(places: number): Intl.NumberFormatOptions {
  return { minimumFractionDigits: places, maximumFractionDigits: places };
}

function printNumber(
  { text }: Digits,
  locale: string,
  options: Intl.NumberFormatOptions,
  evaluation: Evaluation,
): string {
  const format = numberFormat(locale, options, evaluation.budget);
  evaluation.budget.allocate(2 * text.length + MAX_DIGITS);
  // Intl formats decimal text with all its digits; a number would be a double.
  return format.format(text as `${number}`);
}

/** Uses the number's own decimals unless `decimals` is given. */
function formatNumber(input: Value, evaluation: Evaluation, decimals?: Argument, locale?: Argument): Value {
  if (isNothing(input)) return '';
  const digits = digitsOf(input, 'format_number', evaluation);
  const places = placesOf(decimals) ?? digits.places;
  if (places > MAX_PLACES)
    throw renderFault(`the number has ${places} decimals: give decimals, at most ${MAX_PLACES}`);
  return printNumber(digits, localeOf(locale, evaluation), fixedPlaces(places), evaluation);
}

/** Uses the currency's decimals unless `decimals` is given. */
function formatCurrency(
  input: Value,
  evaluation: Evaluation,
  currency?: Argument,
  decimals?: Argument,
  locale?: Argument,
): Value {
  if (isNothing(input)) return '';
  const digits = digitsOf(input, 'format_currency', evaluation);
  const code = textArgument(currency ?? null, 'currency')
    .trim()
    .toUpperCase();
  if (!/^[A-Z]{3}$/.test(code)) throw renderFault(`"${code.slice(0, 40)}" is no currency, such as EUR`);
  const places = placesOf(decimals) ?? PLACES.get(code);
  const options = {
    style: 'currency',
    currency: code,
    ...(places === undefined ? {} : fixedPlaces(places)),
  } as const;
  return printNumber(digits, localeOf(locale, evaluation), options, evaluation);
}

/** 0.25 is 25 %. */
function formatPercent(input: Value, evaluation: Evaluation, decimals?: Argument, locale?: Argument): Value {
  if (isNothing(input)) return '';
  const digits = digitsOf(input, 'format_percent', evaluation);
  const options = { style: 'percent', ...fixedPlaces(placesOf(decimals) ?? 0) } as const;
  return printNumber(digits, localeOf(locale, evaluation), options, evaluation);
}

const WIDTHS = ['short', 'medium', 'long', 'full'] as const;
type Width = (typeof WIDTHS)[number];

function widthOf(argument: Argument): Width {
  const text = isGiven(argument) ? textArgument(argument, 'width') : 'medium';
  const width = WIDTHS.find((known) => known === text);
  if (width) return width;
  throw renderFault(
    `the width must be ${WIDTHS.slice(0, -1).join(', ')} or full, not "${text.slice(0, 40)}"`,
  );
}

/** Accepts text in the format of PostgreSQL or JSON, or seconds since 1970. @throws Fault */
function dateOf(input: Value, name: string): DateText {
  const seconds = input instanceof Decimal ? input.toNumber() : isText(input) ? undefined : asNumber(input);
  if (seconds !== undefined && typeof input !== 'boolean') {
    const ms = seconds * 1000;
    if (!Number.isNaN(new Date(ms).getTime())) return { ms, isInstant: true, hasDate: true, hasTime: true };
  }
  const read = isText(input) ? readDateText(textOf(input)) : undefined;
  if (read) return read;
  throw renderFault(
    `${name} needs a date such as 2026-11-23 or 2026-11-23T09:30:00Z, not ${describe(input)}`,
  );
}

/** Only instants are converted to a time zone: dates, and times without an offset, are printed as they are. */
function dateFilter(name: string, shows: { readonly date: boolean; readonly time: boolean }) {
  return filter(
    ['width', 'timezone', 'locale'],
    (input, evaluation, width?: Argument, timezone?: Argument, locale?: Argument) => {
      if (isNothing(input)) return '';
      const date = dateOf(input, name);
      if (shows.date && !date.hasDate) throw renderFault(`${name} needs a date, not only a time`);
      if (shows.time && !date.hasTime) throw renderFault(`${name} needs a time, not only a date`);
      const style = widthOf(width);
      const options: Intl.DateTimeFormatOptions = {
        ...(shows.date ? { dateStyle: style } : {}),
        ...(shows.time ? { timeStyle: date.isInstant ? style : withoutZone(style) } : {}),
        timeZone: date.isInstant ? timeZoneOf(timezone, evaluation) : DEFAULT_TIME_ZONE,
      };
      const format = dateFormat(localeOf(locale, evaluation), options, evaluation.budget);
      evaluation.budget.allocate(MAX_DIGITS);
      return format.format(date.ms);
    },
  );
}

/** Long time formats name the zone, which a time without an offset does not have. */
const withoutZone = (width: Width): Width => (width === 'short' ? 'short' : 'medium');

/** Locale-dependent formats of numbers, currencies, dates and times, based on `Intl`. */
export const LOCALE_FILTERS = filterTable({
  format_number: filter(['decimals', 'locale'], formatNumber),
  format_currency: filter(['currency', 'decimals', 'locale'], formatCurrency, 1),
  format_percent: filter(['decimals', 'locale'], formatPercent),
  format_date: dateFilter('format_date', { date: true, time: false }),
  format_time: dateFilter('format_time', { date: false, time: true }),
  format_datetime: dateFilter('format_datetime', { date: true, time: true }),
});
