import { LRUCache } from 'lru-cache';
import { IDEMPOTENCY_KEY_USED, IDEMPOTENT_CARRIERS } from '../../db/ledger/leases.js';
import { secretsOf, type Account } from './account.js';
import type { Carrier, LoadedEmail } from './carrier.js';
import { readExchange, verificationOf, type CarrierResponse } from './exchangeOutcome.js';
import type { EmailLimits } from './limits.js';
import { newExchange, CarrierClient, type CarrierRequest } from './carrierClient.js';
import type { SendOutcome } from './sending.js';

/** A carrier that accepts an email in one HTTP request. */
export interface HttpCarrier<A extends Account> {
  readonly limits: EmailLimits;
  toRequest(email: LoadedEmail, account: A): CarrierRequest | Promise<CarrierRequest>;
  readResponse(response: CarrierResponse, email: LoadedEmail): SendOutcome;
  /** A request that sends nothing and only succeeds for a known account. */
  verifyRequest(account: A): CarrierRequest | Promise<CarrierRequest>;
  /** Whether a response other than 2xx also proves that the account is known. */
  recognizes?(response: CarrierResponse): boolean;
  describe(response: CarrierResponse): string;
}

/** Tenants choose the region of SES, which may be one that does not exist. */
const MAX_CLIENTS = 100;

/** @param baseUrlOf by account */
export function createHttpCarrier<A extends Account>(
  baseUrlOf: (account: A) => string,
  carrier: HttpCarrier<A>,
): Carrier<A> {
  // Calls of one that is dropped go on; its idle connections end by themselves.
  const clients = new LRUCache<string, CarrierClient>({ max: MAX_CLIENTS });
  const clientOf = (account: A): CarrierClient => {
    const baseUrl = baseUrlOf(account);
    const client = clients.get(baseUrl) ?? new CarrierClient(baseUrl);
    clients.set(baseUrl, client);
    return client;
  };
  return {
    limits: carrier.limits,
    async send(email, context) {
      const { account } = context;
      const request = await carrier.toRequest(email, account);
      const exchange = await clientOf(account).call(request, context).catch(newExchange);
      const outcome = readExchange(
        exchange,
        (response) => carrier.readResponse(response, email),
        secretsOf(account),
      );
      return IDEMPOTENT_CARRIERS.includes(account.kind) ? withoutDuplicate(outcome) : outcome;
    },
    async verify(account, deadlineMs) {
      const options = { deadlineMs, mayStart: () => true };
      const request = await carrier.verifyRequest(account);
      const exchange = await clientOf(account).call(request, options).catch(newExchange);
      const { status, headers, body } = exchange;
      if (status !== undefined && carrier.recognizes?.({ status, headers, body }) === true) {
        return { ok: true };
      }
      return verificationOf(exchange, (response) => carrier.describe(response), secretsOf(account));
    },
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

/** Adds to an ambiguous outcome that retrying is safe because of the idempotency key. */
function withoutDuplicate(outcome: SendOutcome): SendOutcome {
  if (outcome.kind !== 'retry' || !outcome.ambiguous || outcome.message === IDEMPOTENCY_KEY_USED)
    return outcome;
  return {
    ...outcome,
    message: `${outcome.message}; sending it again is no duplicate: the carrier has its key`,
  };
}
