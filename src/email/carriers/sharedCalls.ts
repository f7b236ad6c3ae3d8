import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { bytesOf } from '../message/emailSize.js';
import { AccountCalls, type Waiting } from './accountCalls.js';
import type { Account } from './account.js';
import type { LoadedEmail } from './carrier.js';
import type { CarrierRequest, Exchange } from './carrierClient.js';
import type { Fields } from './exchangeOutcome.js';
import { readInterval } from './rateHeaders.js';
import type { SendContext, SendOutcome } from './sending.js';

/** How a carrier takes several emails in one request. */
export interface SharedRequest<A extends Account> {
  /** Whether the account's emails may share calls; by default they may. */
  isWanted?(account: A): boolean;
  readonly maxEmails: number;
  /** Between two calls of an account, until a response tells; by default none. */
  readonly intervalMs?: number;
  /** @param key the same for the same emails */
  toRequest(emails: readonly LoadedEmail[], account: A, key: string): CarrierRequest;
  /** The response to each email, as to a request of its own; undefined if the body does not tell. */
  responsesIn(body: unknown, emails: number): readonly ItemResponse[] | undefined;
}

export interface ItemResponse {
  readonly status: number;
  readonly body: Fields;
}

type CallContext = Pick<SendContext, 'deadlineMs' | 'mayStart' | 'span'>;

export interface SharedCallsDeps<A extends Account> {
  readonly shared: SharedRequest<A>;
  readonly isIdempotent: boolean;
  /** @returns milliseconds until the tenant's next call */
  reserveCall(tenantid: number, intervalMs: number): Promise<number>;
  /** Never rejects because of the carrier or the network. */
  call(request: CarrierRequest, account: A, context: CallContext): Promise<Exchange>;
  toRequest(email: LoadedEmail, account: A): CarrierRequest | Promise<CarrierRequest>;
  /** @param isAlone whether the exchange was about this email only */
  readOutcome(exchange: Exchange, email: LoadedEmail, account: A, isAlone: boolean): SendOutcome;
}

const MAX_ACCOUNTS = 1_000;
/** Of the emails of one call, which the event loop writes in one go. A larger email goes alone. */
const MAX_CALL_BYTES = 4_000_000;
/** Bytes of emails that wait for a call without a worker's slot, and of their rows. */
const MAX_WAITING_BYTES = 32_000_000;

/** Sends the emails of each account in as few calls as its carrier's rate limit requires. */
export class SharedCalls<A extends Account> {
  readonly #accounts = new LRUCache<string, AccountCalls<A>>({ max: MAX_ACCOUNTS });
  readonly #memory = new TenantLimiter({ max: MAX_WAITING_BYTES });

  constructor(private readonly deps: SharedCallsDeps<A>) {}

  async send(email: LoadedEmail, context: SendContext<A>): Promise<SendOutcome> {
    const { tenantid } = email;
    const bytes = bytesOf(email);
    const memory = this.#memory.open(tenantid);
    try {
      const mayShare = email.loaded.length === 0 && isShared(this.deps.shared, context.account);
      const calls = this.#callsOf(tenantid, context.account);
      return await calls.send({ email, context, bytes, mayShare }, () => {
        // Otherwise the worker's slots bound how many wait.
        if (!mayShare) return;
        if (memory.reserve(bytes + (context.rowCharacters ?? 0))) context.onWait?.();
        else memory.release();
      });
    } finally {
      memory.release();
    }
  }

  #callsOf(tenantid: number, account: A): AccountCalls<A> {
    const name = createHash('sha256')
      .update(JSON.stringify([tenantid, account]))
      .digest('base64');
    let calls = this.#accounts.get(name);
    if (!calls) this.#accounts.set(name, (calls = openCalls(this.deps, tenantid, account)));
    return calls;
  }
}

const isShared = <A extends Account>(shared: SharedRequest<A>, account: A): boolean =>
  shared.isWanted?.(account) ?? true;

function openCalls<A extends Account>(
  deps: SharedCallsDeps<A>,
  tenantid: number,
  account: A,
): AccountCalls<A> {
  const isWanted = isShared(deps.shared, account);
  let intervalMs = isWanted ? (deps.shared.intervalMs ?? 0) : 0;
  // Without the database, at least the calls of this process are apart.
  const reserve = (): Promise<number> => deps.reserveCall(tenantid, intervalMs).catch(() => intervalMs);
  const turn = (): Promise<void> | undefined =>
    intervalMs === 0 ? undefined : reserve().then((waitMs) => delay(waitMs));
  const call = async (request: CarrierRequest, context: CallContext): Promise<Exchange> => {
    const wasReserved = intervalMs > 0;
    const exchange = await deps.call(request, account, context);
    if (exchange.status !== undefined) intervalMs = readInterval(exchange.headers);
    // Made before the limit was known, this call counts as well.
    if (!wasReserved && intervalMs > 0) await reserve();
    return exchange;
  };
  return new AccountCalls<A>({
    maxEmails: deps.shared.maxEmails,
    maxBytes: MAX_CALL_BYTES,
    isShared: isWanted,
    turn,
    async call(entries) {
      const [first] = entries;
      if (first === undefined) return [];
      if (entries.length > 1) return callTogether(deps, entries, account, call, turn);
      const { email, context } = first;
      const exchange = await call(await deps.toRequest(email, account), context);
      return [deps.readOutcome(exchange, email, account, true)];
    },
  });
}

/** Calls for the same emails while it is unknown whether a carrier that honors keys has got them. */
const MAX_TRIES = 3;
const REPEAT_AFTER_MS = 1_000;

/** @returns undefined for an email that is to be sent in a call of its own */
async function callTogether<A extends Account>(
  deps: SharedCallsDeps<A>,
  entries: readonly Waiting<A>[],
  account: A,
  call: (request: CarrierRequest, context: CallContext) => Promise<Exchange>,
  turn: () => Promise<void> | undefined,
): Promise<readonly (SendOutcome | undefined)[]> {
  const { shared, isIdempotent } = deps;
  const emails = entries.map(({ email }) => email);
  const request = requestFor(emails, account, shared);
  if (!request) return entries.map(() => undefined);
  const mayStart = (): boolean => entries.every(({ context }) => context.mayStart());
  const deadlineMs = Math.min(...entries.map(({ context }) => context.deadlineMs));
  const ofAll = (exchange: Exchange): readonly SendOutcome[] =>
    emails.map((email) => withOthers(deps.readOutcome(exchange, email, account, false), emails.length - 1));

  let unknown: readonly SendOutcome[] | undefined;
  for (let tries = 1; ; tries++) {
    const exchange = await call(request, { deadlineMs, mayStart, span: undefined });
    if (exchange.fenced) {
      return unknown ?? entries.map(({ context }) => (context.mayStart() ? undefined : { kind: 'fenced' }));
    }
    const { status = 0, body } = exchange;
    if (status >= 200 && status < 300) {
      const items = shared.responsesIn(body, emails.length);
      if (!items) return ofAll({ ...exchange, status: undefined, error: new UnreadableResponse() });
      return emails.map((email, index) =>
        deps.readOutcome({ ...exchange, ...items[index] }, email, account, true),
      );
    }
    const outcomes = ofAll(exchange);
    const [outcome] = outcomes;
    // One of them may be the reason: nothing was sent, and the others must not suffer from it.
    if (outcome?.kind === 'rejected') return entries.map(() => undefined);
    const isUnknown = outcome?.kind === 'retry' && outcome.ambiguous;
    if (!isUnknown || !isIdempotent || tries === MAX_TRIES) return unknown ?? outcomes;
    unknown = outcomes;
    await delay(REPEAT_AFTER_MS);
    await turn();
  }
}

/** @returns undefined if one of them can't be written, which must not hold the others up */
function requestFor<A extends Account>(
  emails: readonly LoadedEmail[],
  account: A,
  shared: SharedRequest<A>,
): CarrierRequest | undefined {
  try {
    return shared.toRequest(emails, account, keyOf(emails));
  } catch {
    return undefined;
  }
}

/** The carrier has accepted a request, and does not say which of its emails. */
class UnreadableResponse extends Error {
  readonly code = 'CARRIER_RESPONSE_UNREADABLE';
}

/** Whether each email that a carrier says to have accepted has an id, and no other has it. */
export const areDistinct = (ids: readonly unknown[]): boolean =>
  ids.every((id) => typeof id === 'string' && id !== '') && new Set(ids).size === ids.length;

const keyOf = (emails: readonly LoadedEmail[]): string =>
  createHash('sha256')
    .update(emails.map(({ idempotencyKey = '' }) => idempotencyKey).join('\n'))
    .digest('hex');

function withOthers(outcome: SendOutcome, others: number): SendOutcome {
  if (outcome.kind !== 'retry' || !outcome.ambiguous) return outcome;
  return { ...outcome, message: `${outcome.message}, as may ${others} others of the same call` };
}
