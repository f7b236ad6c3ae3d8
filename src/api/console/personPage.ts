import { Router } from 'express';
import type { Difference } from '../../control/audit/recordChange.js';
import { CONSOLE, linkTo } from './consolePath.js';
import {
  conditionsOfPeriod,
  literal,
  PERIOD_CHOICES,
  periodOf,
  readSearch,
  searchAddress,
  type Search,
} from './deliveryFilter.js';
import { DELIVERIES } from './deliveryPages.js';
import { searchDeliveries } from './deliverySearch.js';
import { addressIn, causeOf, toDelivery, type DeliveryRow } from './deliveryView.js';
import { textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const PERSON = `${CONSOLE}/person`;
const PAGE_SIZE = 50;
/** Of the addresses with a text: an email may be meant for a thousand. */
const MAX_OTHERS = 50;

const BLOCKED = `query ($address: String) {
  email_suppression(filter: $address, limit: 1) { address reason source deliveryid createtime }
  email_unsubscribe(filter: $address, limit: 1) { address email_types all_types source createtime }
}`;
// The list is only queried for its PERMISSION_DENIED.
const MAY_LIST = '{ email_delivery(limit: 0) { deliveryid } }';
const REPORTS = `query ($filter: String) {
  email_delivery(filter: $filter, ordering: ["deliveryid desc"], limit: ${PAGE_SIZE}) {
    deliveryid subject
    email_event_collection(
      filter: "event in ['bounce', 'dropped', 'spamreport', 'unsubscribe', 'group_unsubscribe']", ordering: ["time desc"], limit: 20
    ) { event time recipient reason status type }
  }
}`;

// What the audit log shows the role.
const HISTORY = `query ($filter: String) {
  audit_event(filter: $filter, ordering: ["time desc", "eventid"], limit: ${PAGE_SIZE}) { time roleid login object operation changes }
}`;

interface Change {
  readonly time: string;
  readonly roleid: number;
  readonly login: string | null;
  readonly object: string;
  readonly operation: string;
  readonly changes: readonly Difference[];
}

// A person has several emails.
const BEGINNING = `query ($filter: String) {
  email_recipient(filter: $filter, ordering: ["address"], limit: 500) { address }
}`;

interface Report {
  readonly recipient: string | null;
}

/** Everything that was meant for one address, whether it gets email, and why nothing came. */
export function personPage({ page }: PageHandlers, listMaxLimit: number): Router {
  const person = page(async ({ query, show, may }, req, res) => {
    const given = textOf(req.query, 'address');
    const address = addressIn(given);
    const search = readSearch({ person: address, within: textOf(req.query, 'within') || 'month' });
    const values = { title: given === '' ? 'People' : given, address: given, periods: PERIOD_CHOICES };
    if (address === '') {
      await query(MAY_LIST);
      await show('person', { ...values, search });
      return;
    }
    const { rows, searched } = await searchDeliveries(query, search, {
      limit: PAGE_SIZE + 1,
      listMaxLimit,
    });
    const shown = rows.slice(0, PAGE_SIZE);
    const isAddress = address.includes('@');
    const others = rows.length === 0 ? await readOthers(query, given, search, listMaxLimit) : [];
    const [only] = others;
    if (!isAddress && others.length === 1 && only !== undefined && addressIn(only) !== address) {
      res.redirect(302, linkTo(PERSON, { address: only, within: search.within }));
      return;
    }
    await show('person', {
      ...values,
      search,
      deliveries: shown.map(toDelivery),
      all:
        rows.length > PAGE_SIZE || searched
          ? DELIVERIES + searchAddress(search, searched ? { below: searched.end } : {})
          : undefined,
      searched,
      causes: causesOf(shown),
      reports: await readReports(query, shown, address),
      others,
      isAddress,
      ...(may.repairDeliveries && isAddress
        ? { blocked: await readBlocked(query, address), history: await readHistory(query, address) }
        : {}),
    });
  });

  return Router().get(PERSON, person);
}

/** Why emails of the person did not arrive, each cause once, the newest first. */
function causesOf(rows: readonly DeliveryRow[]): readonly object[] {
  const causes = rows.flatMap((row) => {
    const cause = causeOf(row);
    const { deliveryid, status, error, next_attempt: next } = row;
    return cause ? [{ ...cause, deliveryid, error, next: status === 'scheduled' ? next : null }] : [];
  });
  return causes.filter(({ title }, index) => causes.findIndex((cause) => cause.title === title) === index);
}

/** What carriers reported of the address itself. */
async function readReports(
  query: Visit['query'],
  rows: readonly DeliveryRow[],
  address: string,
): Promise<readonly object[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ deliveryid }) => literal(deliveryid)).join(', ');
  const { email_delivery } = await query<{
    email_delivery: readonly { email_event_collection: readonly Report[] }[];
  }>(REPORTS, { filter: `deliveryid in [${ids}]` });
  return email_delivery.flatMap(({ email_event_collection, ...delivery }) =>
    email_event_collection
      .filter(({ recipient }) => recipient === null || addressIn(recipient) === address)
      .map((report) => ({ ...delivery, ...report })),
  );
}

/** Addresses that begin with the text, however old, and of the newest emails those of people whose name or address has it. */
async function readOthers(
  query: Visit['query'],
  text: string,
  { within }: Search,
  listMaxLimit: number,
): Promise<readonly string[]> {
  const part = text.toLowerCase();
  const search = readSearch({ to: text, within });
  const { rows } = await searchDeliveries(query, search, { limit: PAGE_SIZE, listMaxLimit });
  const named = rows
    .flatMap(({ intended_recipients }) => intended_recipients ?? [])
    .filter((each) => each.toLowerCase().includes(part));
  const { email_recipient } = await query<{ email_recipient: readonly { readonly address: string }[] }>(
    BEGINNING,
    { filter: [...conditionsOfPeriod(periodOf(search)), beginsWith('address', part)].join(' and ') },
  );
  const addresses = new Set(named.map(addressIn));
  const more = email_recipient.map(({ address }) => address).filter((address) => !addresses.has(address));
  return [...new Set([...named, ...more])].slice(0, MAX_OTHERS);
}

/** In the order of bytes, an index finds them. */
function beginsWith(column: string, text: string): string {
  return `${column} >= ${literal(text)} and ${column} < ${literal(`${text}\u{10ffff}`)}`;
}

async function readBlocked(query: Visit['query'], address: string): Promise<object> {
  const { email_suppression, email_unsubscribe } = await query<
    Record<'email_suppression' | 'email_unsubscribe', readonly object[]>
  >(BLOCKED, { address: `address = ${literal(address)}` });
  return { suppressed: email_suppression[0], unsubscribed: email_unsubscribe[0] };
}

/** Who added the address to the lists or removed it, and what was removed then: why and since when it had been there. */
async function readHistory(query: Visit['query'], address: string): Promise<readonly object[]> {
  const { audit_event } = await query<{ audit_event: readonly Change[] }>(HISTORY, {
    filter: `object in ['email_suppression', 'email_unsubscribe'] and key = ${literal(address)}`,
  });
  return audit_event.map(({ time, roleid, login, object, operation, changes }) => ({
    time,
    by: login ?? `role ${roleid}`,
    list: object === 'email_suppression' ? 'suppressed' : 'unsubscribed',
    isRemoval: operation === 'delete',
    ...Object.fromEntries(
      changes.map(({ column, before, after }) => [column, operation === 'delete' ? before : after]),
    ),
  }));
}
