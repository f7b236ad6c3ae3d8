import { LRUCache } from 'lru-cache';
import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import type { SendOutcome } from '../email/carriers/sending.js';

/** How long a refused account is skipped before it is tried again: its owner may have fixed it at the carrier. */
const REFUSED_MS = 60_000;
const MAX_HOLDS = 1_000;

interface Hold {
  readonly isRefused: boolean;
  readonly untilMs: number;
}

/** One of a tenant's accounts, as set at one time. */
export interface AccountName {
  readonly tenantid: number;
  readonly version: number;
  readonly carrier: string;
}

export function accountName({ tenantid, accounts }: LoadedDelivery, carrier: string): AccountName {
  return { tenantid, version: accounts?.version ?? 0, carrier };
}

/**
 * Accounts that accept no email for now, of tenants that have another one, so that not every email tries them first. Each
 * worker learns this for itself.
 */
export class CarrierHolds {
  readonly #holds = new LRUCache<string, Hold>({ max: MAX_HOLDS });

  constructor(private readonly now: () => number) {}

  note(account: AccountName, outcome: SendOutcome): void {
    const name = nameOf(account);
    if (outcome.kind === 'tenant_paused') {
      this.#holds.set(name, { isRefused: true, untilMs: this.now() + REFUSED_MS });
    } else if (outcome.kind === 'rate_limited') {
      this.#holds.set(name, { isRefused: false, untilMs: this.now() + outcome.waitMs });
    } else if (outcome.kind === 'sent') this.#holds.delete(name);
  }

  isHeld(account: AccountName): boolean {
    return (this.#holds.get(nameOf(account))?.untilMs ?? 0) > this.now();
  }

  isRefused(account: AccountName): boolean {
    return this.isHeld(account) && this.#holds.get(nameOf(account))?.isRefused === true;
  }
}

const nameOf = ({ tenantid, version, carrier }: AccountName): string => `${tenantid}:${version}:${carrier}`;
