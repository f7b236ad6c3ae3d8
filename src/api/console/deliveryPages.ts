import { Router, type Request } from 'express';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CONSOLE } from './consolePath.js';
import { deliveryError } from './deliveryErrors.js';
import {
  EVENTS,
  FIELDS,
  literal,
  PERIOD_CHOICES,
  periodOf,
  readSearch,
  searchAddress,
  STATES,
} from './deliveryFilter.js';
import { searchDeliveries } from './deliverySearch.js';
import { ROW, toDelivery, toTimeline, type FullDelivery, type Rule } from './deliveryView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

export const DELIVERIES = `${CONSOLE}/deliveries`;
export const REDRIVE_ALL = `${DELIVERIES}/redrive`;
const PAGE_SIZE = 50;

// The list is only queried for its PERMISSION_DENIED: otherwise a role without access would be told that nothing failed.
const COUNTS = `query ($filter: String) {
  email_delivery(limit: 0) { deliveryid }
  Aggregates { count(subquery: "{ email_delivery { deliveryid state error_code } }", filter: $filter, limit: 1000) }
}`;
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

interface Count {
  readonly count: number;
  readonly state: string;
  readonly error_code: string;
}

/** Pages about what was sent, what was not and why. */
export function deliveryPages({ page }: PageHandlers): Router {
  const list = page(async ({ query, show, isAdmin }, req) => {
    const search = readSearch(req.query);
    const below = idOf(req.query['below']);
    // May throw, so it comes before any query is started.
    const period = periodOf(search);
    const [{ rows, searched }, counts] = await Promise.all([
      searchDeliveries(query, search, {
        below,
        depth: Math.max(0, ['0', '1', '2', '3', '4'].indexOf(req.query['depth'] as string)),
        limit: PAGE_SIZE + 1,
      }),
      readTroubles(query, period),
    ]);
    const shown = rows.slice(0, PAGE_SIZE);
    const last = shown.at(-1);
    const values = {
      title: 'Deliveries',
      deliveries: shown.map(toDelivery),
      search,
      details: FIELDS.some((name) => !ALWAYS_SHOWN.has(name) && search[name] !== ''),
      isSearch: FIELDS.some((name) => name !== 'within' && search[name] !== ''),
      states: STATES,
      events: EVENTS,
      periods: PERIOD_CHOICES,
      counts: byState(counts).map((item) => ({
        ...item,
        address: DELIVERIES + searchAddress(readSearch({ ...periodFields(search), state: item.state })),
      })),
      redrive:
        isAdmin && (UNSENT_STATES.has(search.state) || search.code !== '') && rows.length > 0
          ? REDRIVE_ALL + searchAddress(search)
          : undefined,
      newest: below === undefined ? undefined : DELIVERIES + searchAddress(search),
      older:
        rows.length > PAGE_SIZE && last
          ? DELIVERIES + searchAddress(search, { below: last.deliveryid })
          : undefined,
      searched: searched && {
        ...searched,
        further: DELIVERIES + searchAddress(search, { below: searched.end, depth: searched.depth }),
      },
    };
    // Older pages don't change.
    await show('deliveries', values, below === undefined ? { script: 'live.js' } : {});
  });

  const failures = page(async ({ query, show, isAdmin }, req) => {
    const search = readSearch({ within: req.query['within'] });
    const counts = await readTroubles(query, periodOf(search));
    const groups = counts
      .toSorted((a, b) => b.count - a.count)
      .map((group) => ({
        ...group,
        ...deliveryError(group.error_code),
        address:
          DELIVERIES +
          searchAddress(readSearch({ within: search.within, state: group.state, code: group.error_code })),
        redrive:
          isAdmin && UNSENT_STATES.has(group.state)
            ? REDRIVE_ALL +
              searchAddress(readSearch({ within: search.within, state: group.state, code: group.error_code }))
            : undefined,
      }));
    await show('failures', {
      title: 'Failures',
      groups,
      within: search.within,
      periods: PERIOD_CHOICES,
    });
  });

  const one = page(async ({ query, show, isAdmin }, req) => {
    const row = await readDelivery({ query, isAdmin }, req);
    const [rule, isEmailKept] = isAdmin
      ? [await readRule(query, row.ruleid), await hasKeptEmail(query, row.deliveryid)]
      : [undefined, false];
    await show('delivery', {
      title: row.subject ?? `Delivery ${row.deliveryid}`,
      delivery: toDelivery(row),
      rule,
      isEmailKept,
      timeline: toTimeline(row, rule, isAdmin),
      problem: row.error_code === null ? undefined : deliveryError(row.error_code),
      mayRedrive: isAdmin && FINAL_STATES.has(row.state),
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
const UNSENT_STATES: ReadonlySet<string> = new Set(['failed', 'skipped', 'unknown']);
const ALWAYS_SHOWN: ReadonlySet<string> = new Set(['to', 'subject', 'state', 'within']);

/** Deliveries without an error code are left out: there are many, they are slow to count, and users don't look for them. */
async function readTroubles(query: Visit['query'], period: readonly string[]): Promise<readonly Count[]> {
  const filter = ['error_code is not null', ...period].join(' and ');
  const { Aggregates } = await query<{ Aggregates: { count: readonly Count[] } }>(COUNTS, { filter });
  return Aggregates.count;
}

function byState(counts: readonly Count[]): { readonly state: string; readonly count: number }[] {
  return STATES.flatMap((state) => {
    const count = counts.reduce((sum, item) => sum + (item.state === state ? item.count : 0), 0);
    return count === 0 ? [] : [{ state, count }];
  });
}

function periodFields({ within, from, until }: ReturnType<typeof readSearch>): object {
  return { within, from, until };
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
