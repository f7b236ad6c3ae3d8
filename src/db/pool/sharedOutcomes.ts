import type { ResponseReservation } from './responseBudget.js';
import { isConnectionFailure, isServerError, isSessionEnd } from '../sql/sqlState.js';
import type { PipelineResult } from '../wire/index.js';
import {
  lateOutcomeOf,
  outcomeOf,
  type OutcomeInput,
  type TransactionOutcome,
} from '../failover/transactionOutcome.js';

export type SharingRequest = OutcomeInput & { readonly reservation?: ResponseReservation };

/** How the transaction of the requests went. */
interface TransactionResult {
  /** Statements that preceded the requests' own. */
  readonly opening: number;
  readonly inTime: boolean;
}

/** The outcome of each request of a transaction, or that it is to be repeated alone. */
export function outcomesOf(
  requests: readonly SharingRequest[],
  result: PipelineResult,
  course: TransactionResult,
): readonly (TransactionOutcome | 'repeat')[] {
  const areInserts = requests.length > 1 && requests[0]?.mode === 'write';
  const last = requests.reduce((sum, { statements }) => sum + statements.length, course.opening);
  let first = course.opening;
  return requests.map((request, index) => {
    const end = first + request.statements.length;
    const place = { first, end, index, last };
    first = end;
    return areInserts
      ? outcomeOfInsert(request, result, course, place)
      : outcomeOfRead(request, result, course, place);
  });
}

interface Place {
  readonly first: number;
  readonly end: number;
  readonly index: number;
  /** The end of the last request's statements. */
  readonly last: number;
}

/** The outcomes of reads, or of a single request. Reads after a failed one have not run. */
function outcomeOfRead(
  request: SharingRequest,
  { rows, refusals, error }: PipelineResult,
  { opening, inTime }: TransactionResult,
  { first, end, index, last }: Place,
): TransactionOutcome | 'repeat' {
  if (index > 0 && error && rows.length < first) return 'repeat';
  const isComplete = rows.length >= end && !(end === last && error);
  const ended = {
    rows: rows.slice(first, end),
    refusal: request.reservation && refusals.get(request.reservation),
    error: isComplete ? undefined : error,
    hasStarted: rows.length >= opening,
  };
  return inTime ? outcomeOf(request, ended) : lateOutcomeOf(request, ended);
}

/** The outcomes of inserts: all were committed, or none. If certainly none was, each is repeated while there is time. */
function outcomeOfInsert(
  request: SharingRequest,
  { rows, refusals, error }: PipelineResult,
  { opening, inTime }: TransactionResult,
  { first, end, last }: Place,
): TransactionOutcome | 'repeat' {
  const ended = {
    rows: error && rows.length < last ? [] : rows.slice(first, end),
    refusal: request.reservation && refusals.get(request.reservation),
    error,
    hasStarted: rows.length >= opening,
  };
  if (!inTime) return lateOutcomeOf(request, ended);
  return error && isRolledBack(error) ? 'repeat' : outcomeOf(request, ended);
}

/** Whether PostgreSQL said so. */
function isRolledBack(error: Error): boolean {
  return isServerError(error) && !isSessionEnd(error) && !isConnectionFailure(error);
}
