import { LRUCache } from 'lru-cache';
import { IDEMPOTENCY_KEY_USED } from '../../db/ledger/leases.js';
import { setting } from '../../config/settings/setting.js';
import { webAddress } from '../../config/settingValues.js';
import { ownValue } from '../../foundation/ownValue.js';
import { secretsIn, type Account } from './account.js';
import type { CarrierDefinition, LoadedEmail } from './carrier.js';
import {
  readExchange,
  responseOf,
  verificationOf,
  type CarrierResponse,
  type ResponseReader,
} from './exchangeOutcome.js';
import { CarrierClient, type CarrierRequest } from './carrierClient.js';
import type { SendOutcome } from './sending.js';

/** A carrier that accepts an email in one HTTP request. */
export interface HttpCarrier<A extends Account> extends Omit<CarrierDefinition<A>, 'open'>, ResponseReader {
  /** By default that of its only setting. */
  baseUrlOf?(account: A, urls: Readonly<Record<string, string | undefined>>): string | undefined;
  /** @param baseUrl of the account */
  toRequest(email: LoadedEmail, account: A, baseUrl: string): CarrierRequest | Promise<CarrierRequest>;
  /** A request that sends nothing and only succeeds for a known account. */
  verifyRequest(account: A, baseUrl: string): CarrierRequest | Promise<CarrierRequest>;
  /** Whether a response other than 2xx also proves that the account is known. */
  recognizes?(response: CarrierResponse): boolean;
}

/** @param fallbackText how the docs show the default, if it depends on the account */
export const baseUrlSetting = (env: string, url: string | undefined, doc: string, fallbackText?: string) =>
  setting<string | undefined>(env, webAddress, url, `Base URL of ${doc}.`, fallbackText);

/** Tenants choose the region of SES, which may be one that does not exist. */
const MAX_CLIENTS = 100;

export function httpCarrier<A extends Account>(carrier: HttpCarrier<A>): CarrierDefinition<A> {
  return {
    ...carrier,
    open({ carrierUrls }) {
      // Calls of one that is dropped go on; its idle connections end by themselves.
      const clients = new LRUCache<string, CarrierClient>({
        max: MAX_CLIENTS,
        memoMethod: (baseUrl) => new CarrierClient(baseUrl),
      });
      const baseUrlOf = (account: A): string => {
        const url = carrier.baseUrlOf
          ? carrier.baseUrlOf(account, carrierUrls)
          : ownValue(carrierUrls, carrier.baseUrls[0]?.env ?? '');
        if (url === undefined) throw new Error(`${carrier.kind} has no base URL`);
        return url;
      };
      return {
        async send(email, context) {
          const { account } = context;
          const baseUrl = baseUrlOf(account);
          const request = await carrier.toRequest(email, account, baseUrl);
          const exchange = await clients.memo(baseUrl).call(request, context);
          const outcome = readExchange(exchange, carrier, email, secretsIn(carrier.fields, account));
          return carrier.isIdempotent ? withoutDuplicate(outcome) : outcome;
        },
        async verify(account, deadlineMs) {
          const baseUrl = baseUrlOf(account);
          const request = await carrier.verifyRequest(account, baseUrl);
          const exchange = await clients.memo(baseUrl).call(request, { deadlineMs });
          const response = responseOf(exchange, carrier);
          if (response && carrier.recognizes?.(response) === true) return { ok: true };
          return verificationOf(exchange, carrier, secretsIn(carrier.fields, account));
        },
        close() {
          for (const client of clients.values()) client.close();
        },
      };
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
