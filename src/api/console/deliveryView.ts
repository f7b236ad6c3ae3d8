import { isJsonObject, writeJson, textOfValue } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { findCarrier } from '../../email/carriers/allCarriers.js';
import { keyText } from './choices.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { deliveryError, REPORTED, type Cause } from './deliveryErrors.js';
import { STATUSES, UNSENT } from './deliveryFilter.js';
import { shortened } from './formValues.js';
import { HAPPENS } from './words.js';

/** The fields to query for a delivery. */
export const ROW = `deliveryid ruleid email_type operation target key state status attempts intended_recipients
  subject error_code error createtime next_attempt sent_time`;

/** What the code reads of a delivery; views also show the other fields of `ROW`. */
export interface DeliveryRow {
  readonly deliveryid: string;
  readonly ruleid: string;
  readonly email_type: string;
  readonly operation: string;
  readonly target: string;
  readonly key: unknown;
  readonly state: string;
  readonly status: string;
  readonly intended_recipients: readonly string[] | null;
  readonly subject: string | null;
  readonly error_code: string | null;
  readonly error: string | null;
  readonly createtime: string;
  readonly next_attempt: string | null;
}

export interface FullDelivery extends DeliveryRow {
  readonly change: {
    readonly roleid: number | null;
    readonly writer: string | null;
    readonly application: string | null;
    readonly old: unknown;
    readonly new: unknown;
  } | null;
  readonly email_attempt_collection: readonly {
    readonly attempt: number;
    readonly started: string;
    readonly finished: string | null;
    readonly outcome: string | null;
    readonly http_status: number | null;
    readonly error: string | null;
    readonly carrier: string | null;
  }[];
  readonly email_event_collection: readonly {
    readonly event: string;
    readonly time: string;
    readonly recipient: string | null;
    readonly reason: string | null;
    readonly status: string | null;
    readonly type: string | null;
    readonly url: string | null;
  }[];
}

/** A rule as returned by GraphQL. */
export interface Rule {
  readonly ruleid: string;
  readonly name: string;
  readonly condition: string | null;
  readonly query_roleid: number;
}

/** Names of roles, by number. */
export type RoleNames = ReadonlyMap<string, string>;

/** An entry of the timeline. */
interface Moment {
  readonly time: string;
  readonly title: string;
  /** Determines its marker. */
  readonly kind: 'plain' | 'good' | 'bad' | 'waiting';
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly columns?: readonly ChangedColumn[];
}

interface ChangedColumn {
  readonly name: string;
  readonly old: string | undefined;
  readonly new: string | undefined;
  readonly isChanged: boolean;
}

/** What to show if nobody knows whom an email is for. */
const WITHOUT_RECIPIENTS: Readonly<Record<string, string>> = {
  failed: 'It was not written, so nobody knows for whom.',
  held_back: 'It was not written, so nobody knows for whom.',
};
const MAX_RECIPIENTS_SHOWN = 3;
const MAX_VALUE_CHARACTERS = 2_000;
const MAX_COLUMNS = 200;

export function toDelivery(row: DeliveryRow): object {
  const all = row.intended_recipients ?? [];
  return {
    ...row,
    key: showKey(row.key),
    whyAddress: linkTo(`${CONSOLE}/why`, { table: row.target, key: keyText(row.key) }),
    title: titleOf(row),
    statusLabel: ownValue(STATUSES, row.status) ?? row.status,
    cause: causeOf(row),
    happened: ownValue(HAPPENS, row.operation) ?? row.operation,
    recipients: all.map((text) => ({ text, address: addressIn(text) })),
    withoutRecipients: ownValue(WITHOUT_RECIPIENTS, row.status) ?? 'Not written yet.',
    recipientsShown: all.slice(0, MAX_RECIPIENTS_SHOWN).join(', '),
    moreRecipients: Math.max(0, all.length - MAX_RECIPIENTS_SHOWN),
  };
}

/** The subject, or what the email is about. */
export function titleOf({ subject, email_type, key }: DeliveryRow): string {
  return subject ?? `${email_type} for ${showKey(key)}`;
}

/** Why it did not arrive, or waits. */
export function causeOf({
  status,
  error_code,
}: Pick<DeliveryRow, 'status' | 'error_code'>): Cause | undefined {
  return error_code !== null && UNSENT.has(status) ? deliveryError(error_code) : ownValue(REPORTED, status);
}

/** `Ada <ada@example.com>` is `ada@example.com`. What is no address is itself. */
export function addressIn(text: string): string {
  return (/<([^<>]+)>$/.exec(text)?.[1] ?? text).toLowerCase();
}

/** Everything that happened, in chronological order. */
export function toTimeline(
  row: FullDelivery,
  rule: Rule | undefined,
  isAdmin: boolean,
  roles: RoleNames = new Map(),
): readonly Moment[] {
  const moments = [
    changeOf(row, isAdmin, roles),
    matchOf(row, rule, isAdmin, roles),
    ...attemptsOf(row),
    ...row.email_event_collection.map(eventOf),
  ];
  const [change, match, ...later] = moments;
  return [change, match, ...later.toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time))].filter(
    (moment) => moment !== undefined,
  );
}

function changeOf(
  { operation, target, key, change, createtime }: FullDelivery,
  isAdmin: boolean,
  roles: RoleNames,
): Moment {
  return {
    time: createtime,
    title: `${ownValue(CHANGES, operation) ?? operation}: ${target} ${showKey(key)}`,
    kind: 'plain',
    facts: change ? writerOf(change, roles) : isAdmin ? [['Values', 'no longer kept']] : [],
    ...(change ? { columns: changedColumns(change.old, change.new) } : {}),
  };
}

function writerOf(
  { roleid, writer, application }: NonNullable<FullDelivery['change']>,
  roles: RoleNames,
): Moment['facts'] {
  return given([
    ['By', nameOf(roleid, roles)],
    ['By SQL of', writer],
    ['Application', application],
  ]);
}

function nameOf(roleid: number | null, roles: RoleNames): string | null {
  return roleid === null ? null : (roles.get(String(roleid)) ?? `role ${roleid}`);
}

const CHANGES: Readonly<Record<string, string>> = {
  insert: 'Row added',
  update: 'Row changed',
  delete: 'Row deleted',
  upload: 'File uploaded',
};

function matchOf(
  { createtime, ruleid, email_type }: FullDelivery,
  rule: Rule | undefined,
  isAdmin: boolean,
  roles: RoleNames,
): Moment {
  const condition: [string, string][] = rule?.condition ? [['Only if', rule.condition]] : [];
  return {
    time: createtime,
    title: rule
      ? `Rule “${rule.name}” matched`
      : `Rule ${ruleid} matched${isAdmin ? '; it has been deleted since' : ''}`,
    kind: 'plain',
    facts: [
      ...condition,
      ['Email', email_type],
      ...given([['Reads data as', nameOf(rule?.query_roleid ?? null, roles)]]),
    ],
  };
}

const REDRIVEN = 'redriven';

const OUTCOMES: Readonly<Record<string, readonly [title: string, kind: Moment['kind']]>> = {
  sent: ['Accepted by the carrier', 'good'],
  rejected: ['Rejected by the carrier', 'bad'],
  failed: ['Failed', 'bad'],
  retry: ['Failed, will be retried', 'waiting'],
  ambiguous: ['Outcome unknown', 'bad'],
  paused: ['Paused: the carrier rejects the account', 'waiting'],
  rate_limited: ['The carrier asked to wait', 'waiting'],
  redriven: ['Sent again by hand', 'plain'],
};

type Attempt = FullDelivery['email_attempt_collection'][number];

/** Redrives are listed among the attempts but don't count as attempts. */
function attemptsOf({ email_attempt_collection: all }: FullDelivery): readonly Moment[] {
  let count = 0;
  return all.map((attempt) => attemptOf(attempt, attempt.outcome === REDRIVEN ? count : ++count));
}

function attemptOf(
  { started, finished, outcome, http_status, error, carrier }: Attempt,
  number: number,
): Moment {
  const [title, kind] = ownValue(OUTCOMES, outcome ?? '') ?? [outcome ?? 'Being sent', 'waiting' as const];
  const tookMs = finished === null ? undefined : Date.parse(finished) - Date.parse(started);
  return {
    time: finished ?? started,
    title:
      outcome === REDRIVEN
        ? title
        : `Attempt ${number}: ${title.replace('the carrier', findCarrier(carrier ?? '')?.title ?? 'the carrier')}`,
    kind,
    facts: given([
      ['Carrier', carrier],
      ['Response code', http_status],
      [outcome === REDRIVEN ? 'Before, it' : http_status === null ? 'Error' : "Carrier's response", error],
      ['Took', tookMs === undefined || outcome === REDRIVEN ? null : `${tookMs} ms`],
    ]),
  };
}

const EVENTS: Readonly<Record<string, readonly [title: string, kind: Moment['kind']]>> = {
  delivered: ['Delivered', 'good'],
  open: ['Opened', 'good'],
  click: ['A link was clicked', 'good'],
  deferred: ['Deferred by the receiving server', 'waiting'],
  bounce: ['Bounced', 'bad'],
  dropped: ['Dropped by the carrier', 'bad'],
  spamreport: ['Reported as spam', 'bad'],
  unsubscribe: ['Unsubscribed', 'plain'],
  group_unsubscribe: ['Unsubscribed from a group', 'plain'],
  group_resubscribe: ['Subscribed to a group again', 'plain'],
};

function eventOf(event: FullDelivery['email_event_collection'][number]): Moment {
  const [title, kind] = ownValue(EVENTS, event.event) ?? [event.event, 'plain' as const];
  return {
    time: event.time,
    title,
    kind,
    facts: given([
      ['Recipient', event.recipient],
      ['Reason', event.reason],
      ['Status', event.status],
      ['Type', event.type],
      ['Link', event.url],
    ]),
  };
}

function given(facts: readonly (readonly [string, string | number | null])[]): [string, string][] {
  return facts.flatMap(([name, value]) => (value === null || value === '' ? [] : [[name, String(value)]]));
}

/** Changed columns first. */
function changedColumns(before: unknown, after: unknown): readonly ChangedColumn[] {
  const [old, now] = [isJsonObject(before) ? before : {}, isJsonObject(after) ? after : {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const both = isJsonObject(before) && isJsonObject(after);
  const columns = names.map((name) => {
    const [was, is] = [showValue(old, name), showValue(now, name)];
    return { name, old: was, new: is, isChanged: both && was !== is };
  });
  const ordered = [
    ...columns.filter((column) => column.isChanged),
    ...columns.filter((column) => !column.isChanged),
  ];
  return ordered.slice(0, MAX_COLUMNS);
}

function showValue(row: Readonly<Record<string, unknown>>, name: string): string | undefined {
  if (!Object.hasOwn(row, name)) return undefined;
  return shortened(textOfValue(ownValue(row, name)), MAX_VALUE_CHARACTERS);
}

/** `order_id = 7, line = 1` */
export function showKey(key: unknown): string {
  if (!isJsonObject(key)) return writeJson(key);
  return Object.entries(key)
    .map(([name, value]) => `${name} = ${textOfValue(value)}`)
    .join(', ');
}
