import { Router, type Request } from 'express';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { Role } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { deliveryError, REPORTED } from './deliveryErrors.js';
import {
  EVENTS,
  conditionsOfPeriod,
  FIELDS,
  literal,
  PERIOD_CHOICES,
  periodOf,
  readSearch,
  searchAddress,
  STATUSES,
  statusesOf,
  TROUBLE_STATUSES,
  UNSENT,
  type Period,
} from './deliveryFilter.js';
import { searchDeliveries } from './deliverySearch.js';
import { mayBeOldestFirst, oldestDeliveries } from './oldestDeliveries.js';
import { areFiguresOld } from './overviewView.js';
import {
  causeOf,
  ROW,
  titleOf,
  toDelivery,
  toTimeline,
  type FullDelivery,
  type RoleNames,
  type Rule,
} from './deliveryView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

export const DELIVERIES = `${CONSOLE}/deliveries`;
export const REDRIVE_ALL = `${DELIVERIES}/redrive`;
const PAGE_SIZE = 50;

// The list is only queried for its PERMISSION_DENIED: otherwise a role without access would be told that nothing failed.
const COUNTS = `query ($since: DateTime, $until: DateTime) {
  email_delivery(limit: 0) { deliveryid }
  Utility { delivery_counts(since: $since, until: $until) { counted causes { status error_code deliveries } } }
}`;
const ROLES = 'query ($filter: String) { role(filter: $filter) { roleid login name } }';
const CHANGE = 'change { time roleid writer application old new }';
/** Only admins see the changed row: policy rules may hide it from others. */
const readOne = (change: string): string => `query ($filter: String) {
  email_delivery(filter: $filter, limit: 1) { ${ROW} provider_message_id ${change}
    email_attempt_collection(ordering: ["attempt"], limit: 200) { attempt started finished outcome http_status error carrier }
    email_event_collection(ordering: ["time"], limit: 200) { event time recipient reason status type url }
  }
}`;
const KEPT_EMAIL = `query ($id: ID!) { Utility { sent_mail(deliveryid: $id) { attempt } } }`;
const RULE = `query ($filter: String) {
  email_rule(filter: $filter, limit: 1) { ruleid name email_type condition enabled query_roleid operations targets }
}`;

const OLDEST = 'oldest';

/** Deliveries that did not go well, by status and, unless they were sent, by cause. */
interface Count {
  readonly count: number;
  readonly status: string;
  readonly error_code: string;
}

/** Pages about what was sent, what was not and why. */
export function deliveryPages({ page }: PageHandlers, listMaxLimit: number): Router {
  const list = page(async ({ query, show, may }, req) => {
    const search = readSearch(req.query);
    const isOldestFirst = req.query['order'] === OLDEST && mayBeOldestFirst(search);
    const order = isOldestFirst ? OLDEST : '';
    // Where the page starts, in its order.
    const below = idOf(req.query[isOldestFirst ? 'above' : 'below']);
    // May throw, so it comes before any query is started.
    const period = periodOf(search);
    const { within, from, until } = search;
    const [{ rows, searched }, { counts, areOld }] = await Promise.all([
      isOldestFirst
        ? oldestDeliveries(query, search, below, PAGE_SIZE + 1)
        : searchDeliveries(query, search, { below, limit: PAGE_SIZE + 1, listMaxLimit }),
      readTroubles(query, period),
    ]);
    const shown = rows.slice(0, PAGE_SIZE);
    const last = shown.at(-1);
    const values = {
      title: 'Deliveries',
      deliveries: shown.map(toDelivery),
      shownIds: shown.map(({ deliveryid }) => deliveryid).join(','),
      selected: `${DELIVERIES}/selected${searchAddress(search)}`,
      exported: `${DELIVERIES}/export${searchAddress(search)}`,
      mayRepair: may.repairDeliveries,
      search,
      details: FIELDS.some((name) => !ALWAYS_SHOWN.has(name) && search[name] !== ''),
      isSearch: FIELDS.some((name) => name !== 'within' && search[name] !== ''),
      statuses: statusChoices(search),
      events: EVENTS,
      periods: PERIOD_CHOICES,
      since: period.since,
      until: period.until,
      counts: toFigures(counts).map(({ found, ...figure }) => ({
        ...figure,
        address: DELIVERIES + searchAddress(readSearch({ within, from, until, ...found })),
      })),
      redrive:
        may.repairDeliveries &&
        (UNSENT_STATES.has(search.state) || UNSENT_STATUSES.has(search.status) || search.code !== '') &&
        rows.length > 0
          ? REDRIVE_ALL + searchAddress(search)
          : undefined,
      areOld,
      isOldestFirst,
      otherOrder: mayBeOldestFirst(search)
        ? DELIVERIES + searchAddress(search, { order: isOldestFirst ? '' : OLDEST })
        : undefined,
      start: below === undefined ? undefined : DELIVERIES + searchAddress(search, { order }),
      further:
        rows.length > PAGE_SIZE && last
          ? DELIVERIES +
            searchAddress(search, { order, [isOldestFirst ? 'above' : 'below']: last.deliveryid })
          : undefined,
      searched: searched && {
        ...searched,
        further: DELIVERIES + searchAddress(search, { below: searched.end }),
      },
    };
    // Other pages don't change.
    await show('deliveries', values, {
      script: below === undefined && !isOldestFirst ? 'live.js' : 'selection.js',
    });
  });

  const failures = page(async ({ query, show, may }, req) => {
    const search = readSearch({ within: req.query['within'] });
    const period = periodOf(search);
    const { counts, areOld } = await readTroubles(query, period);
    const latest = await readLatest(query, counts, period);
    const groups = counts
      .toSorted((a, b) => b.count - a.count)
      .map((group) => {
        const { status, error_code: code } = group;
        const address = searchAddress(readSearch({ within: search.within, status, code }));
        const newest = latest.get(group);
        return {
          ...group,
          ...(code === '' ? ownValue(REPORTED, status) : deliveryError(code)),
          statusLabel: ownValue(STATUSES, status),
          latest: newest,
          address: DELIVERIES + address,
          redrive:
            may.repairDeliveries && newest && UNSENT_STATES.has(newest.state)
              ? REDRIVE_ALL + address
              : undefined,
        };
      });
    await show('failures', {
      title: 'Failures',
      groups,
      areOld,
      since: period.since,
      within: search.within,
      periods: PERIOD_CHOICES,
    });
  });

  const one = page(async ({ query, show, isAdmin, may }, req) => {
    const row = await readDelivery({ query, isAdmin }, req);
    const [rule, isEmailKept] = isAdmin
      ? [await readRule(query, row.ruleid), await hasKeptEmail(query, row.deliveryid)]
      : [undefined, false];
    const roles = await readRoleNames(query, [rule?.query_roleid, row.change?.roleid]);
    await show('delivery', {
      title: titleOf(row),
      delivery: toDelivery(row),
      rule,
      isEmailKept,
      timeline: toTimeline(row, rule, isAdmin, roles),
      problem: causeOf(row),
      mayRedrive: may.repairDeliveries && FINAL_STATES.has(row.state),
      notice:
        req.query['done'] === 'redriven'
          ? (ownValue(REDRIVE_RESULTS, row.state) ?? 'It is being sent again.')
          : undefined,
    });
  });

  return Router()
    .get(DELIVERIES, list)
    .get(`${CONSOLE}/failures`, failures)
    .get(`${DELIVERIES}/:deliveryid`, one);
}

/** The results of a redrive. */
const REDRIVE_RESULTS: Readonly<Record<string, string>> = {
  sent: 'It was sent again.',
  failed: 'It was tried again, and failed.',
  skipped: 'It was tried again, and skipped.',
  unknown: 'It was tried again. The outcome is unknown.',
};
/** States that can be redriven. */
export const FINAL_STATES: ReadonlySet<string> = new Set(['sent', 'failed', 'skipped', 'unknown']);
/** States that can be redriven in bulk. */
export const UNSENT_STATES: ReadonlySet<string> = new Set(['failed', 'skipped', 'unknown']);
const UNSENT_STATUSES: ReadonlySet<string> = new Set(['failed', 'held_back', 'unknown']);
const ALWAYS_SHOWN: ReadonlySet<string> = new Set(['to', 'subject', 'status', 'within']);

/** From the counts that a relay keeps by the hour. */
async function readTroubles(
  query: Visit['query'],
  period: Period,
): Promise<{ readonly counts: readonly Count[]; readonly areOld: boolean }> {
  const { Utility } = await query<{
    Utility: {
      readonly delivery_counts: {
        readonly counted: string | null;
        readonly causes: readonly (Omit<Count, 'count'> & { readonly deliveries: number })[];
      };
    };
  }>(COUNTS, { ...period });
  const counts = new Map<string, Count>();
  const { counted, causes } = Utility.delivery_counts;
  for (const { status, error_code: code, deliveries } of causes) {
    // What may have been sent is no longer in question once it was reported.
    const isReported = TROUBLE_STATUSES.has(status);
    if (!isReported && !(UNSENT.has(status) && code !== '')) continue;
    const error_code = isReported ? '' : code;
    const key = `${status} ${error_code}`;
    counts.set(key, { status, error_code, count: deliveries + (counts.get(key)?.count ?? 0) });
  }
  return { counts: [...counts.values()], areOld: areFiguresOld(counted, Date.now()) };
}

interface Latest {
  readonly state: string;
  readonly status: string;
}

/** The newest delivery of each cause that has a code, unless very many with the same code ended otherwise since. */
async function readLatest(
  query: Visit['query'],
  counts: readonly Count[],
  period: Period,
): Promise<ReadonlyMap<Count, Latest>> {
  const codes = [...new Set(counts.map(({ error_code }) => error_code))]
    .filter((code) => code !== '')
    .slice(0, MAX_LATEST);
  if (codes.length === 0) return new Map();
  const document = `query (${codes.map((_, index) => `$f${index}: String`).join(', ')}) {
    ${codes.map((_, index) => `c${index}: email_delivery(filter: $f${index}, ordering: ["deliveryid desc"], limit: ${MAX_OF_CODE}) { deliveryid email_type state status error }`).join('\n')}
  }`;
  const filters = codes.map((code, index) => [
    `f${index}`,
    [`error_code = ${literal(code)}`, ...conditionsOfPeriod(period)].join(' and '),
  ]);
  const found = await query<Readonly<Record<string, readonly Latest[]>>>(
    document,
    Object.fromEntries(filters) as Readonly<Record<string, string>>,
  );
  return new Map(
    counts.flatMap((count) => {
      const newest = ownValue(found, `c${codes.indexOf(count.error_code)}`);
      const delivery = newest?.find(({ status }) => status === count.status);
      return delivery ? [[count, delivery] as const] : [];
    }),
  );
}
const MAX_OF_CODE = 50;
const MAX_LATEST = 20;

/** Also the several that a link asks for. */
function statusChoices(search: ReturnType<typeof readSearch>): readonly object[] {
  const chosen = statusesOf(search);
  const label = chosen.map((status) => ownValue(STATUSES, status) ?? status).join(', ');
  return [
    ...(chosen.length > 1 ? [{ value: search.status, label }] : []),
    ...Object.entries(STATUSES).map(([value, each]) => ({ value, label: each })),
  ];
}

/** What the counts above the list count, each with the search that finds it. */
const FIGURES = [
  // Not those that wait for their first attempt.
  { status: 'scheduled', label: STATUSES['scheduled'], found: { state: 'retrying' } },
  ...['bounced', 'complained', 'held_back', 'failed', 'unknown'].map((status) => ({
    status,
    label: ownValue(STATUSES, status),
    found: { status },
  })),
];

function toFigures(counts: readonly Count[]) {
  return FIGURES.flatMap((figure) => {
    const count = counts.reduce((sum, item) => sum + (item.status === figure.status ? item.count : 0), 0);
    return count === 0 ? [] : [{ ...figure, count }];
  });
}

/** The delivery in the URL, with everything known about it. Throws AppError NOT_FOUND. */
export async function readDelivery(
  { query, isAdmin }: Pick<Visit, 'query' | 'isAdmin'>,
  req: Request,
): Promise<FullDelivery> {
  const filter = `deliveryid = ${literal(requireId(req))}`;
  const { email_delivery } = await query<{ email_delivery: readonly FullDelivery[] }>(
    readOne(isAdmin ? CHANGE : ''),
    { filter },
  );
  const [row] = email_delivery;
  if (row) return { ...row, change: isAdmin ? row.change : null };
  throw new AppError('NOT_FOUND', 'There is no such delivery.', {
    hint: 'It may be older than what is kept, or belong to another tenant.',
  });
}

/** @returns undefined if it was deleted */
export async function readRule(query: Visit['query'], ruleid: string): Promise<Rule | undefined> {
  const { email_rule } = await query<{ email_rule: readonly Rule[] }>(RULE, {
    filter: `ruleid = ${literal(ruleid)}`,
  });
  return email_rule[0];
}

/** Names of roles that the caller may see. */
export async function readRoleNames(
  query: Visit['query'],
  roleids: readonly (number | null | undefined)[],
): Promise<RoleNames> {
  const known = [...new Set(roleids.filter((roleid) => roleid != null))];
  if (known.length === 0) return new Map();
  const { role } = await query<{ role: readonly Role[] }>(ROLES, {
    filter: `roleid in [${known.join(', ')}]`,
  });
  return new Map(role.map(({ roleid, login, name }) => [String(roleid), login ?? name ?? `role ${roleid}`]));
}

async function hasKeptEmail(query: Visit['query'], id: string): Promise<boolean> {
  const { Utility } = await query<{ Utility: { sent_mail: object | null } }>(KEPT_EMAIL, { id });
  return Utility.sent_mail !== null;
}

export function requireId(req: Request): string {
  const id = idOf(req.params['deliveryid']);
  if (id !== undefined) return id;
  throw new AppError('NOT_FOUND', 'There is no such delivery.');
}

function idOf(given: unknown): string | undefined {
  return typeof given === 'string' && /^\d{1,19}$/.test(given) ? given : undefined;
}
