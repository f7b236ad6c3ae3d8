import { IDEMPOTENCY_KEY_USED, IDEMPOTENT_CARRIERS } from '../../db/delivery/leases.js';
import { secretsOf, type Account } from './account.js';
import type { Carrier, LoadedMail } from './carrier.js';
import { readExchange, verdictOf, type Answer } from './exchangeOutcome.js';
import type { MailLimits } from './limits.js';
import { newExchange, ProviderClient, type ProviderRequest } from './providerClient.js';
import type { SendOutcome } from './transport.js';

/** A carrier that takes a mail in one request over HTTP. */
export interface HttpCarrier<A extends Account> {
  readonly limits: MailLimits;
  toRequest(mail: LoadedMail, account: A): ProviderRequest | Promise<ProviderRequest>;
  readAnswer(answer: Answer): SendOutcome;
  /** A request that sends nothing, and that only a known account is answered. */
  verifyRequest(account: A): ProviderRequest | Promise<ProviderRequest>;
  /** Answers to it that say so too, besides 2xx. */
  recognises?(answer: Answer): boolean;
  describe(answer: Answer): string;
}

/** @param baseUrlOf by account */
export function createHttpCarrier<A extends Account>(
  baseUrlOf: (account: A) => string,
  carrier: HttpCarrier<A>,
): Carrier<A> {
  const clients = new Map<string, ProviderClient>();
  const clientOf = (account: A): ProviderClient => {
    const baseUrl = baseUrlOf(account);
    const client = clients.get(baseUrl) ?? new ProviderClient(baseUrl);
    clients.set(baseUrl, client);
    return client;
  };
  return {
    limits: carrier.limits,
    async send(mail, context) {
      const { account } = context;
      const request = await carrier.toRequest(mail, account);
      const exchange = await clientOf(account).call(request, context).catch(newExchange);
      const outcome = readExchange(exchange, (answer) => carrier.readAnswer(answer), secretsOf(account));
      return IDEMPOTENT_CARRIERS.includes(account.kind) ? withoutDuplicate(outcome) : outcome;
    },
    async verify(account, deadlineMs) {
      const terms = { deadlineMs, mayStart: () => true };
      const request = await carrier.verifyRequest(account);
      const exchange = await clientOf(account).call(request, terms).catch(newExchange);
      const { status, headers, body } = exchange;
      if (status !== undefined && carrier.recognises?.({ status, headers, body }) === true) {
        return { ok: true };
      }
      return verdictOf(exchange, (answer) => carrier.describe(answer), secretsOf(account));
    },
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

/** The ledger says of an outcome that can't be known what follows from the key. */
function withoutDuplicate(outcome: SendOutcome): SendOutcome {
  if (outcome.kind !== 'retry' || !outcome.ambiguous || outcome.message === IDEMPOTENCY_KEY_USED)
    return outcome;
  return {
    ...outcome,
    message: `${outcome.message}; sending it again is no duplicate: the carrier has its key`,
  };
}
