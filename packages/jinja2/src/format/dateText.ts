import { ownValue } from '../ownValue.js';
/** A date, a time or both, in the format of PostgreSQL and JSON. */
export interface DateText {
  /** Milliseconds since 1970: of the instant, or of the wall clock as if it were UTC's. */
  readonly ms: number;
  /** Whether it has an offset from UTC, so that its display depends on the time zone. */
  readonly isInstant: boolean;
  readonly hasDate: boolean;
  readonly hasTime: boolean;
}

const DATE = String.raw`(?<year>\d{4,6})-(?<month>\d\d)-(?<day>\d\d)`;
const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?)?`;
const OFFSET = String.raw`(?:Z|(?<sign>[+-])(?<hours>\d\d)(?::?(?<minutes>\d\d))?(?::?(?<seconds>\d\d))?)`;
const TEXT = new RegExp(`^(?:${DATE})?(?:(?:^|[T ])${TIME}\\s?(?<offset>${OFFSET})?)?$`, 'i');
const MAX_CHARACTERS = 64;
const DAY_MS = 86_400_000;

/** @returns undefined for anything else, such as `infinity`, a date BC or 30 February */
export function readDateText(text: string): DateText | undefined {
  const trimmed = text.trim();
  const parts = trimmed === '' || trimmed.length > MAX_CHARACTERS ? undefined : TEXT.exec(trimmed)?.groups;
  if (!parts) return undefined;
  const number = (name: string): number => Number(ownValue(parts, name) ?? 0);
  const hasDate = parts['year'] !== undefined;
  const [year, month, day] = hasDate ? [number('year'), number('month') - 1, number('day')] : [1970, 0, 1];
  const written = [number('hour'), number('minute'), number('second'), number('fraction')];
  // The end of the day, which PostgreSQL's type `time` has too: midnight of the next one.
  const isEndOfDay = written.join() === '24,0,0,0';
  const clock = [isEndOfDay ? 0 : number('hour'), number('minute'), number('second')] as const;
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  date.setUTCHours(...clock, Math.floor(Number(`0.${parts['fraction'] ?? 0}`) * 1000));
  const isReal =
    date.getUTCMonth() === month &&
    date.getUTCDate() === day &&
    date.getUTCHours() === clock[0] &&
    date.getUTCMinutes() === clock[1] &&
    date.getUTCSeconds() === clock[2];
  if (!isReal) return undefined;
  const offsetSeconds = number('hours') * 3600 + number('minutes') * 60 + number('seconds');
  const offsetMs = (parts['sign'] === '-' ? -1 : 1) * offsetSeconds * 1000;
  return {
    ms: date.getTime() + (isEndOfDay ? DAY_MS : 0) - offsetMs,
    isInstant: parts['offset'] !== undefined,
    hasDate,
    hasTime: parts['hour'] !== undefined,
  };
}
