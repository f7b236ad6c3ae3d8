import { toValue } from 'liquidjs';
import type { FilterHandler } from './searchFilters.js';

type FilterScope = ThisParameterType<FilterHandler>;

/** A directive of strftime, as LiquidJS reads it: flags, width, modifier, conversion. */
const DIRECTIVE = /%([-_0^#:]+)?(\d+)?([EO])?(.)/g;
const NAMES_SOMETHING = /%[^A-Za-z%]*[EO]?[aAbBhZ]/;

/** The formats of one locale by conversion. */
type NameFormats = ReadonlyMap<string, Intl.DateTimeFormat>;

function nameFormats(locale: string): NameFormats {
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
  return new Map([
    ['a', format({ weekday: 'short' })],
    ['A', format({ weekday: 'long' })],
    ['b', format({ month: 'short' })],
    ['B', format({ month: 'long' })],
    ['h', format({ month: 'short' })],
  ]);
}

const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * LiquidJS's filters for dates, with the same results. LiquidJS creates a format of `Intl` for each name of a month, a day
 * or the time zone; each occupies some kilobytes outside the heap, which neither the process's limit nor the garbage
 * collector counts. These keep theirs.
 * @param print LiquidJS's `date`
 */
export function dateFilters(print: FilterHandler, locale: string): Record<string, FilterHandler> {
  const [own, english] = [nameFormats(locale), nameFormats('en-US')];

  function printed(scope: FilterScope, value: unknown, format: string, zone: unknown, formats: NameFormats) {
    const pattern = NAMES_SOMETHING.test(format) ? withNames(scope, value, format, zone, formats) : format;
    return print.call(scope, value, pattern, zone);
  }

  function withNames(
    scope: FilterScope,
    value: unknown,
    format: string,
    zone: unknown,
    formats: NameFormats,
  ): string {
    const date: unknown = print.call(scope, value, '%Y %-m %-d', zone);
    const [year = NaN, month = 1, day] = typeof date === 'string' ? date.split(' ').map(Number) : [];
    if (Number.isNaN(year)) return format;
    const noon = new Date(2000, 0, 1, 12);
    noon.setFullYear(year, month - 1, day);
    return format.replace(DIRECTIVE, (directive, flags = '', width = '', _modifier, conversion: string) => {
      const hasZone = conversion === 'Z' && (zone === undefined || zone === null);
      const name = hasZone ? TIME_ZONE : formats.get(conversion)?.format(noon);
      if (name === undefined) return directive;
      const text = padded(name, String(flags), Number(width), conversion);
      scope.context.memoryLimit.use(text.length);
      return text.replaceAll('%', '%%');
    });
  }

  function written(this: FilterScope, value: unknown, month: string, type: unknown, style: unknown) {
    const day = type === 'ordinal' ? '%-d%q' : '%d';
    const format = type === 'ordinal' && style === 'US' ? `${month} ${day}, %Y` : `${day} ${month} %Y`;
    return printed(this, value, format, undefined, own);
  }

  return {
    date(value: unknown, format: unknown, zone: unknown) {
      const given: unknown = toValue(format);
      const pattern = given ?? this.context.opts.dateFormat;
      // LiquidJS makes text of anything else.
      if (typeof pattern !== 'string') return print.call(this, value, pattern, zone);
      return printed(this, value, pattern, zone, own);
    },
    date_to_rfc822(value: unknown) {
      return printed(this, value, '%a, %d %b %Y %H:%M:%S %z', undefined, english);
    },
    date_to_string(value: unknown, type: unknown, style: unknown) {
      return written.call(this, value, '%b', type, style);
    },
    date_to_long_string(value: unknown, type: unknown, style: unknown) {
      return written.call(this, value, '%B', type, style);
    },
  };
}

/** Digits of a width that LiquidJS is left to refuse. */
const MAX_WIDTH = 200;

/** As LiquidJS applies flags and widths to names. */
function padded(name: string, flags: string, width: number, conversion: string): string {
  const text = flags.includes('^') ? name.toUpperCase() : flags.includes('#') ? swapped(name) : name;
  if (flags.includes('-')) return text;
  const isSpaced = flags.includes('_') || ('aAbB'.includes(conversion) && !flags.includes('0'));
  return text.padStart(Math.min(width, MAX_WIDTH), isSpaced ? ' ' : '0');
}

function swapped(name: string): string {
  return /[a-z]/.test(name) ? name.toUpperCase() : name.toLowerCase();
}
