// The requests on the wire at the edge of each window. The one place to change when a statement is renamed.
import type { Service } from './rig/member.js';

/** What a held request is about, parsed from its bytes. */
export interface Concerned {
  readonly deliveryids?: readonly string[];
  readonly batchids?: readonly string[];
  /** Marks of orders, as the load writes them. */
  readonly marks?: readonly string[];
}

/** A kind of request that shows what a process is doing. */
export interface Marker {
  readonly name: string;
  readonly on: Service;
  /** @param request its bytes, one character each */
  readonly matches: (request: string) => boolean;
  readonly concerns: (request: string) => Concerned;
}

/** The queue's store: Redis, or the same PostgreSQL. */
export type Backend = 'redis' | 'postgres';

const all = (pattern: RegExp, text: string): readonly string[] => [
  ...new Set([...text.matchAll(pattern)].map(([, found]) => found ?? '')),
];
const preparedStatement = (name: string) => (request: string) => request.includes(`\0${name}\0`);
const secondList = (request: string): readonly string[] =>
  [...(/\{[^{}]*\}[^{}]*\{([^{}]*)\}/.exec(request)?.[1] ?? '').matchAll(/\d+/g)].map(([id]) => id);
const nothing = (): Concerned => ({});

/** A mutation, whose values contain the mark of the order it creates. */
export const mutation: Marker = {
  name: 'the mutation of an order',
  on: 'postgres',
  matches: (request) => /mk-\d+-\d+/.test(request),
  concerns: (request) => ({ marks: all(/(mk-\d+-\d+)/g, request) }),
};

/** The relay starts a poll. */
export const relayPoll: Marker = {
  name: 'relay_poll_lock',
  on: 'postgres',
  matches: preparedStatement('relay_poll_lock'),
  concerns: nothing,
};

/** The commit of a transaction of several statements; the relay's are its polls. */
export const relayCommit: Marker = {
  name: "the poll's commit",
  on: 'postgres',
  matches: (request) => /^Q[^]{4}commit\0/i.test(request),
  concerns: nothing,
};

/** Batches are added to the queue. Jobs hold their ids as JSON, which the PostgreSQL backend sends inside JSON. */
export const addBatches = (backend: Backend): Marker => ({
  name: 'adding batches to the queue',
  on: backend,
  matches: (request) => isAdd(backend, request) && /\\?"batchid\\?":/.test(request),
  concerns: (request) => ({ batchids: all(/\\?"batchid\\?": ?\\?"(\d+)/g, request) }),
});

/**
 * A worker starts to evaluate a batch, or does all of it at once. The batch's id is the first parameter, after counts
 * and lengths, which contain no digits.
 */
export const batchStarted: Marker = {
  name: 'batch_close_plain or batch_load',
  on: 'postgres',
  matches: (request) => BATCH_BEGUN.test(request),
  concerns: (request) => ({ batchids: all(new RegExp(`${BATCH_BEGUN.source}[^\\d]*(\\d+)`, 'g'), request) }),
};

const BATCH_BEGUN = /\0batch_(?:close_plain|load)\0/;

/** A worker claims deliveries. Its second parameter is the list of their ids. */
export const deliveryLoad: Marker = {
  name: 'delivery_load',
  on: 'postgres',
  matches: preparedStatement('delivery_load'),
  concerns: (request) => ({ deliveryids: secondList(request) }),
};

/** The ledger records that deliveries are about to be sent. Its second parameter is the list of their ids. */
export const sendingStart: Marker = {
  name: 'sending_start',
  on: 'postgres',
  matches: preparedStatement('sending_start'),
  concerns: (request) => ({ deliveryids: secondList(request) }),
};

/** An email is sent to the carrier. */
export const email: Marker = {
  name: 'a call of the carrier',
  on: 'carrier',
  matches: (request) => request.startsWith('POST ') || /^Message-ID: <delivery\./im.test(request),
  // Every carrier is told the delivery's Message-ID, or its id with a name.
  concerns: (request) => ({
    deliveryids: all(/(?:"deliveryid":"|"deliveryid","value":"|delivery\.\d+\.)(\d+)/g, request),
  }),
};

/**
 * A job is completed; by then the outcomes of its deliveries are in the ledger. Job ids are `b<batch>-<time>` and
 * `d<delivery>-<attempt>`.
 */
export const jobDone = (backend: Backend): Marker => ({
  name: 'the completion of a job',
  on: backend,
  matches: (request) =>
    backend === 'redis'
      ? /:(batches|deliveries):completed/.test(request) && JOB_KEY.test(request)
      : request.includes('move_to_completed') && /(b\d+|d\d+-\d+)/.test(request),
  concerns: (request) => ({
    batchids: all(backend === 'redis' ? /:batches:b(\d+)-\d+\r\n/g : /[^\w]b(\d+)[^\w]/g, request),
    deliveryids: all(backend === 'redis' ? /:deliveries:d(\d+)-\d+/g : /[^\w]d(\d+)-\d+/g, request),
  }),
});

/** Where Redis keeps a job: the last key of the command that completes it. */
const JOB_KEY = /:(batches:b\d+-\d+|deliveries:d\d+-\d+(-at\d+)?)\r\n/;

function isAdd(backend: Backend, request: string): boolean {
  return backend === 'redis' ? /EVALSHA/i.test(request) : /add_jobs_bulk|add_job\(/.test(request);
}
