import { ownValue } from '../../foundation/ownValue.js';

/** A carrier that takes more calls in a second is called as fast as emails come; one that takes fewer says so by a 429. */
const PACED_PER_SECOND = { min: 0.2, max: 50 };
/** So many calls have to arrive in each period, although the network delays some of them more than others. */
const MARGIN = 1.05;

/** `2;w=1`, and in later drafts `"default";q=2;w=1`: calls in a period, and its seconds. */
const POLICY = /(?:^\s*|;\s*q=)(\d+)[^,]*;\s*(?:w|window)=(\d+)/i;
const ENDS_WITHIN_A_SECOND = /^[01]$/;
/** The time to read a policy grows with the square of its length. */
const MAX_CHARACTERS = 1_000;

type Headers = Readonly<Record<string, unknown>>;

/**
 * The time between two calls with which a carrier's rate limit is never reached, in milliseconds, by the headers of any of its
 * responses (draft-ietf-httpapi-ratelimit-headers). Zero without a limit that matters.
 */
export function readInterval(headers: Headers): number {
  const text = (name: string): string => {
    const value = ownValue(headers, name);
    return typeof value === 'string' ? value.slice(0, MAX_CHARACTERS) : '';
  };
  const limit = text('ratelimit-limit');
  const policy = POLICY.exec(text('ratelimit-policy')) ?? POLICY.exec(limit);
  const [calls, seconds] = policy
    ? [Number(policy[1]), Number(policy[2])]
    : [ENDS_WITHIN_A_SECOND.test(text('ratelimit-reset')) ? Number(limit) : 0, 1];
  const perSecond = calls / seconds;
  const isPaced = perSecond >= PACED_PER_SECOND.min && perSecond <= PACED_PER_SECOND.max;
  return isPaced ? (1000 / perSecond) * MARGIN : 0;
}
