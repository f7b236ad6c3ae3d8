import { ownValue } from '../../foundation/ownValue.js';

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 3_600_000;

type Headers = Readonly<Record<string, unknown>>;

/** When the period of a rate limit ends. */
const RESET_HEADERS = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset'];
/** The same in the header of later drafts: `limit=10, reset=40`, then `"default";r=0;t=40`. */
const RESET_FIELD = /(?:^|[\s,;])(?:reset|t)\s*=\s*(\d+)/gi;

/** A smaller number is seconds from now: as a time, it would be before 1974. */
const MIN_EPOCH_SECONDS = 1e8;
/** A smaller number is in seconds: in milliseconds, it would be before 1974. */
const MIN_EPOCH_MS = 1e11;

/**
 * Milliseconds until a carrier that has responded with 429 accepts email again. `Retry-After` says when a request may succeed; the end
 * of a period is when all of the limit is available again. Of several periods, the last to end counts.
 */
export function readWait(headers: Headers, nowMs: number): number {
  // Times are by the clock of the server, which may differ from ours.
  const dateMs = Date.parse(textOf(headers['date']));
  const sentMs = Number.isNaN(dateMs) ? nowMs : dateMs;
  const fields = [...textOf(headers['ratelimit']).matchAll(RESET_FIELD)].map(([, seconds = '']) => seconds);
  const resets = [...RESET_HEADERS.map((name) => textOf(ownValue(headers, name))), ...fields];
  const waitMs =
    longestWait([textOf(headers['retry-after'])], sentMs) ?? longestWait(resets, sentMs) ?? MIN_WAIT_MS;
  return Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS);
}

function longestWait(texts: readonly string[], sentMs: number): number | undefined {
  // Node.js joins the values of a header that came more than once. Dates have a comma too.
  const values = texts.flatMap((text) => (/[a-z]/i.test(text) ? [text] : text.split(',')));
  const waits = values.map((value) => waitOf(value.trim(), sentMs)).filter((waitMs) => waitMs !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** @param value seconds from now, seconds or milliseconds since 1970, or a date */
function waitOf(value: string, sentMs: number): number | undefined {
  if (/^\d+(\.\d*)?$/.test(value)) {
    const number = Number(value);
    if (number < MIN_EPOCH_SECONDS) return number * 1000;
    return (number < MIN_EPOCH_MS ? number * 1000 : number) - sentMs;
  }
  const dateMs = /^[A-Z][a-z]{2}.* |^\d{4}-/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(dateMs) ? undefined : dateMs - sentMs;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
