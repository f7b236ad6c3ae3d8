import { Router } from 'express';
import type { StatusCount } from '../../db/ledger/deliveryFigures.js';
import { CONSOLE } from './consolePath.js';
import {
  areFiguresOld,
  countOf,
  inGroups,
  listAddress,
  percent,
  secondsText,
  toActivity,
  toCarriers,
  toCauses,
  toChart,
  toFigures,
  toRow,
  oldestText,
  type Statistics,
} from './overviewView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

export const OVERVIEW = `${CONSOLE}/overview`;

const STATISTICS = `query ($days: Int!) { Utility { statistics(days: $days) {
  counted since compared_until late accepted_p50_seconds accepted_p95_seconds
  statuses { status deliveries compared before } times { time status deliveries } carriers { carrier status deliveries }
  causes { status error_code deliveries } email_types(limit: 10) { name deliveries newest statuses { status deliveries } days }
} } }`;
/** Only admins see how a tenant is set up. */
const SET_UP = `{ email_rule(filter: "enabled = true", limit: 1) { ruleid }
  Utility { email_transport { paused_code paused_reason } } }`;
const INSTALLATION = `{ Utility {
  backlog { events batches waiting retries later paused oldest_seconds }
  installation_statistics { tenants { tenantid name deliveries statuses { status deliveries } }
    processes { name version address since connections } }
} }`;

interface SetUp {
  readonly email_rule: readonly object[];
  readonly Utility: {
    readonly email_transport: {
      readonly paused_code: string | null;
      readonly paused_reason: string | null;
    } | null;
  };
}

interface Installation {
  readonly backlog: { readonly oldest_seconds: number | null };
  readonly installation_statistics: {
    readonly tenants: readonly { readonly statuses: readonly StatusCount[] }[];
    readonly processes: readonly { readonly name: string; readonly version: string | null }[];
  };
}

const PERIODS = [
  { days: 1, label: 'Today', before: 'the day before' },
  { days: 7, label: '7 days', before: 'the 7 days before' },
  { days: 30, label: '30 days', before: 'the 30 days before' },
] as const;

/** What is wrong, in a sentence, with where to look. */
interface Problem {
  readonly text: string;
  readonly address: string;
}

/** The first page: whether everything is all right, and what was sent. */
export function overviewPage({ page }: PageHandlers): Router {
  const overview = page(async (visit, req) => {
    if (visit.isOperator) return showInstallation(visit);
    const period = PERIODS.find(({ days }) => String(days) === req.query['days']) ?? PERIODS[0];
    const { statistics } = (
      await visit.query<{ Utility: { readonly statistics: Statistics } }>(STATISTICS, { days: period.days })
    ).Utility;
    const setUp = visit.isAdmin ? await visit.query<SetUp>(SET_UP) : undefined;
    const now = Date.now();
    const total = statistics.statuses.reduce((sum, { deliveries }) => sum + deliveries, 0);
    await visit.show(
      'overview',
      {
        title: 'Overview',
        periods: PERIODS.map((each) => ({ ...each, isShown: each === period })),
        period,
        problems: [...setUpProblems(setUp), ...deliveryProblems(statistics, now)],
        undelivered: undeliveredText(statistics),
        total: inGroups(total),
        isEmpty: total === 0,
        counted: statistics.counted,
        figures: toFigures(statistics),
        chart: toChart(statistics, period.days, now),
        emailTypes: statistics.email_types.map(toActivity),
        carriers: toCarriers(statistics.carriers),
        causes: toCauses(statistics),
        p50: secondsText(statistics.accepted_p50_seconds),
        p95: secondsText(statistics.accepted_p95_seconds),
      },
      { script: 'live.js' },
    );
  });

  return Router().get(OVERVIEW, overview);
}

async function showInstallation({ query, show }: Visit): Promise<void> {
  const { Utility } = await query<{ Utility: Installation }>(INSTALLATION);
  const { backlog, installation_statistics: figures } = Utility;
  const versions = new Set(figures.processes.map(({ version }) => version));
  await show(
    'overview-installation',
    {
      title: 'Overview',
      backlog: { ...backlog, oldest: oldestText(backlog.oldest_seconds) },
      tenants: figures.tenants.map(({ statuses, ...tenant }) => ({ ...tenant, ...toRow(statuses) })),
      processes: figures.processes,
      problems: [
        ...(['relay', 'worker', 'web'] as const)
          .filter(
            (kind) =>
              !figures.processes.some(({ name }) => name === kind || name === 'all' || name === 'demo'),
          )
          .map((kind) => ({ text: `No ${kind} is connected to PostgreSQL.`, address: '#processes' })),
        ...(versions.size > 1 ? [{ text: 'Processes of several versions run.', address: '#processes' }] : []),
        ...((backlog.oldest_seconds ?? 0) > LATE_SECONDS
          ? [{ text: `Email has waited for ${oldestText(backlog.oldest_seconds)}.`, address: '#backlog' }]
          : []),
      ],
    },
    { script: 'live.js' },
  );
}

/** Until then, waiting is the business of queues. */
const LATE_SECONDS = 120;
/** Above these rates carriers warn, and then close accounts. */
const MAX_BOUNCED = 0.05;
const MAX_COMPLAINED = 0.001;
/** A share of a few emails says nothing. */
const MIN_SENT = 100;

function setUpProblems(setUp: SetUp | undefined): readonly Problem[] {
  if (!setUp) return [];
  const { email_transport: account } = setUp.Utility;
  if (!account)
    return [{ text: 'There is no carrier yet, so no email can be sent.', address: '/console/sending' }];
  if (account.paused_code !== null) {
    const reason = account.paused_reason ?? account.paused_code;
    return [{ text: `Sending is paused: ${reason}`, address: '/console/sending' }];
  }
  if (setUp.email_rule.length > 0) return [];
  return [{ text: 'No rule is enabled, so no change sends an email.', address: '/console/rules' }];
}

function deliveryProblems(statistics: Statistics, nowMs: number): readonly Problem[] {
  const { counted, since, statuses, late, compared_until } = statistics;
  const problems: Problem[] = [];
  if (counted !== null && areFiguresOld(counted, nowMs))
    problems.push({ text: 'These figures are old: no relay counts.', address: '#counted' });
  if (late > 0) {
    const until = new Date(Date.parse(compared_until) - 3_600_000).toISOString().slice(0, 16);
    const address = listAddress('2000-01-01T00:00:00Z', { status: 'scheduled,sending', until });
    problems.push({ text: `${emails(late)} waited for more than an hour.`, address });
  }
  const failed = countOf(statuses, ['failed']);
  if (failed > 0)
    problems.push({ text: `${emails(failed)} failed.`, address: listAddress(since, { status: 'failed' }) });
  const unknown = countOf(statuses, ['unknown']);
  if (unknown > 0) {
    const address = listAddress(since, { status: 'unknown' });
    problems.push({
      text: `Of ${emails(unknown)}, nobody knows whether the carrier accepted ${unknown === 1 ? 'it' : 'them'}.`,
      address,
    });
  }
  const sent = statuses.reduce(
    (sum, { status, deliveries }) => sum + (IN_RATES.has(status) ? deliveries : 0),
    0,
  );
  for (const [status, max, what] of RATES) {
    const count = countOf(statuses, [status]);
    if (sent < MIN_SENT || count / sent <= max) continue;
    const text = `${percent(count / sent)} ${what}: carriers close accounts above ${percent(max)}.`;
    problems.push({ text, address: listAddress(since, { status }) });
  }
  return problems;
}

const IN_RATES: ReadonlySet<string> = new Set([
  'sent',
  'delivered',
  'opened',
  'clicked',
  'unsubscribed',
  'bounced',
  'complained',
]);
const RATES = [
  ['bounced', MAX_BOUNCED, 'bounced'],
  ['complained', MAX_COMPLAINED, 'complained'],
] as const;

/** What was not sent, or did not arrive, for reasons outside of this service. */
function undeliveredText({ statuses }: Statistics): string {
  const parts = [
    ['bounced', 'bounced'],
    ['complained', 'complained'],
    ['held_back', 'held back'],
  ].flatMap(([status = '', words]) => {
    const count = countOf(statuses, [status]);
    return count === 0 ? [] : [`${inGroups(count)} ${words}`];
  });
  return parts.join(', ');
}

function emails(count: number): string {
  return count === 1 ? '1 email' : `${inGroups(count)} emails`;
}
