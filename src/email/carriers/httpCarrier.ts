import { LRUCache } from 'lru-cache';
import { IDEMPOTENCY_KEY_USED } from '../../db/ledger/lostAttempts.js';
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
import { SharedCalls, type SharedRequest, type SharedCallsDeps } from './sharedCalls.js';

/** A carrier that accepts an email in one HTTP request. */
export interface HttpCarrier<A extends Account> extends Omit<CarrierDefinition<A>, 'open'>, ResponseReader {
  /** By default that of its only setting. */
  baseUrlOf?(account: A, urls: Readonly<Record<string, string | undefined>>): string | undefined;
  /** @param baseUrl of the account */
  toRequest(email: LoadedEmail, account: A, baseUrl: string): CarrierRequest | Promise<CarrierRequest>;
  /** A request that sends nothing and only succeeds for a known account. */
  verifyRequest(account: A, baseUrl: string): CarrierRequest | Promise<CarrierRequest>;
  /** How it takes several emails in one request, if it does. */
  readonly shared?: SharedRequest<A>;
  /** Whether a response other than 2xx also proves that the account is known. */
  recognizes?(response: CarrierResponse): boolean;
}

/**
 * @param api as people know it
 * @param fallbackText how the docs show the default, if it depends on the account
 */
export const baseUrlSetting = (env: string, url: string | undefined, api: string, fallbackText?: string) =>
  setting<string | undefined>(
    env,
    webAddress,
    url,
    `Base URL of the ${api}; set it to use a test server.`,
    fallbackText,
  );

/** Tenants choose the region of SES, which may be one that does not exist. */
const MAX_CLIENTS = 100;

export function httpCarrier<A extends Account>(carrier: HttpCarrier<A>): CarrierDefinition<A> {
  return {
    ...carrier,
    open({ carrierUrls, reserveCall }) {
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
      const calls: Omit<SharedCallsDeps<A>, 'shared' | 'isIdempotent' | 'reserveCall'> = {
        call: (request, account, context) => clients.memo(baseUrlOf(account)).call(request, context),
        toRequest: (email, account) => carrier.toRequest(email, account, baseUrlOf(account)),
        readOutcome(exchange, email, account, isAlone) {
          const outcome = readExchange(exchange, carrier, email, secretsIn(carrier.fields, account));
          return carrier.isIdempotent && isAlone ? withoutDuplicate(outcome) : outcome;
        },
      };
      const shared =
        carrier.shared &&
        new SharedCalls<A>({
          ...calls,
          shared: carrier.shared,
          isIdempotent: carrier.isIdempotent ?? false,
          reserveCall,
        });
      return {
        async send(email, context) {
          if (shared) return shared.send(email, context);
          const { account } = context;
          const exchange = await calls.call(await calls.toRequest(email, account), account, context);
          return calls.readOutcome(exchange, email, account, true);
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
