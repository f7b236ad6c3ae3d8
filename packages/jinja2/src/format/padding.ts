import { codePointLength } from '../values/codePoints.js';

/** Python's format specification: `[[fill]align][sign][z][#][0][width][grouping][.precision][type]`. */
export interface FormatSpec {
  readonly fill: string;
  readonly align: string;
  /** Whether the alignment was given, and is not that of the flag `0`. */
  readonly explicitAlign: boolean;
  readonly sign: string;
  /** Whether a number that is rounded to zero loses its minus sign. */
  readonly positiveZero: boolean;
  readonly alternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string;
}

const ZERO = /^[0.]+(?:[eE%]|$)/;

/** The sign of a number whose magnitude is written as `digits`. */
export function signOf(negative: boolean, digits: string, spec: FormatSpec): string {
  if (negative && !(spec.positiveZero && ZERO.test(digits))) return '-';
  return spec.sign === '-' ? '' : spec.sign;
}

export function padNumber(
  sign: string,
  digits: string,
  rest: string,
  spec: FormatSpec,
  groupSize: number,
): string {
  const inner = spec.align === '=' && spec.fill === '0' ? spec.width - sign.length - rest.length : 0;
  const grouped = spec.grouping === '' ? digits : group(digits, spec.grouping, groupSize, inner);
  if (spec.align === '=') {
    const missing = Math.max(0, spec.width - sign.length - grouped.length - rest.length);
    return sign + spec.fill.repeat(missing) + grouped + rest;
  }
  return pad(sign + grouped + rest, spec, spec.align || '>');
}

/** Digits with separators, padded with zeros (also separated) to a width. */
function group(digits: string, separator: string, size: number, width: number): string {
  if (digits === '') return digits;
  let padded = digits;
  while (padded.length + Math.floor((padded.length - 1) / size) < width) padded = `0${padded}`;
  const first = padded.length % size || size;
  let out = padded.slice(0, first);
  for (let i = first; i < padded.length; i += size) out += separator + padded.slice(i, i + size);
  return out;
}

export function pad(
  text: string,
  { width, fill }: Pick<FormatSpec, 'width' | 'fill'>,
  align: string,
): string {
  const missing = width - codePointLength(text);
  if (missing <= 0) return text;
  if (align === '<') return text + fill.repeat(missing);
  if (align === '>') return fill.repeat(missing) + text;
  const left = Math.floor(missing / 2);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}
