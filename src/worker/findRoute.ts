import type { Account } from '../email/carriers/account.js';
import { IDEMPOTENT_CARRIERS } from '../email/carriers/allCarriers.js';
import type { AttemptedDelivery } from './attemptReport.js';
import { accountName } from './carrierHolds.js';
import { chooseCarrier } from './chooseCarrier.js';
import type { DeliverDeps } from './deliverDeps.js';

/** How an attempt is sent. */
export interface Route {
  /** Undefined if none is needed. */
  readonly account: Account | undefined;
  readonly carrier: string;
  /** Tried at once if this one certainly sends nothing. */
  readonly next: string | undefined;
  /** All carriers of the tenant. */
  readonly carriers: readonly string[];
  /** The attempt or redrive since which the delivery has its current idempotency key. */
  readonly keySince: number | undefined;
}

export async function findRoute(
  { ledger, holds }: DeliverDeps,
  delivery: AttemptedDelivery,
  accounts: readonly Account[],
): Promise<Route> {
  const carriers = accounts.map(({ kind }) => kind);
  const matters = carriers.length > 1 || carriers.some((carrier) => IDEMPOTENT_CARRIERS.includes(carrier));
  const history = matters && delivery.starts > 0 ? await ledger.readAttempts(delivery) : [];
  const { carrier, next } = chooseCarrier(carriers, history, (each) =>
    holds.isHeld(accountName(delivery, each)),
  );
  return {
    account: accounts.find(({ kind }) => kind === carrier),
    carrier: carrier ?? delivery.carrier,
    next,
    carriers,
    keySince: history.find(({ outcome, usedKey }) => outcome === 'redriven' || usedKey)?.attempt,
  };
}
