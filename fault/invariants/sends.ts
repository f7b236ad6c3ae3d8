import type { Invariant } from './invariant.js';

export const sendsAccounted: Invariant = {
  name: '3 sends per delivery ≤ 1 + recorded ambiguous outcomes',
  breaches({ accounts, duplicates }) {
    const twice = [...accounts.accepted].filter(
      ([deliveryid, emails]) =>
        emails.length > 1 && accounts.deliveries.get(deliveryid)?.policy === 'at_most_once',
    );
    return [
      ...duplicates
        .filter(({ accounted }) => !accounted)
        .map(({ deliveryid }) => `delivery ${deliveryid}: sent again without an ambiguous outcome on record`),
      ...twice.map(
        ([deliveryid, emails]) => `delivery ${deliveryid}: at_most_once, sent ${emails.length} times`,
      ),
    ];
  },
};

/** A duplicate that no strike or carrier fault explains is a bug of the product. */
export const duplicatesExplained: Invariant = {
  name: '3b duplicates only where the response was lost',
  breaches: ({ duplicates, accounts }) =>
    duplicates
      .filter(({ explained }) => !explained)
      .map(({ deliveryid, window, first, calls, before }) => {
        const emails = (accounts.accepted.get(deliveryid) ?? []).map(({ receivedAtMs }) =>
          timeOf(receivedAtMs),
        );
        const sender = first
          ? `${first.by} called at ${timeOf(first.sentAtMs)}, given up at ${timeOf(first.givenUpAtMs)}`
          : 'no ambiguous attempt of the first';
        const earlier = before ? ` since ${before.window} at ${timeOf(before.atMs)}` : '';
        const cause = window ?? `nothing was done to it${earlier}`;
        const seen = calls.map(({ by, sentAtMs }) => `${by} at ${timeOf(sentAtMs)}`);
        const attempts = (accounts.attempts.get(deliveryid) ?? []).map(
          ({ attempt, outcome, startedAtMs }) => `${attempt} ${outcome} from ${timeOf(startedAtMs)}`,
        );
        return [
          `delivery ${deliveryid}: sent at ${emails.join(', ')}`,
          `${sender}; ${cause}`,
          `calls seen: ${seen.join(', ')}; attempts: ${attempts.join(', ')}`,
        ].join('; ');
      }),
};

const timeOf = (atMs: number): string => new Date(atMs).toISOString().slice(11, 23);

/** A carrier that supports idempotency keys sends a delivery once, whatever response was lost. */
export const keysHonored: Invariant = {
  name: '3c no duplicates by a carrier that honors idempotency keys',
  breaches: ({ accounts }) =>
    [...accounts.accepted]
      .filter(([, emails]) => emails.filter(({ carrier }) => carrier === 'resend').length > 1)
      .map(([deliveryid]) => `delivery ${deliveryid}: sent again by a carrier that has its key`),
};

/** Only outcomes that are certain not to have sent lead to the next transport. */
export const oneCarrierEach: Invariant = {
  name: '3d no second transport after an outcome that is not known',
  breaches: ({ accounts }) =>
    [...accounts.accepted]
      .filter(([, emails]) => new Set(emails.map(({ carrier }) => carrier)).size > 1)
      .map(([deliveryid]) => `delivery ${deliveryid}: sent by two carriers`),
};
