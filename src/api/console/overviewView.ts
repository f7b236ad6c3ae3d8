import { ownValue } from '../../foundation/ownValue.js';
import { durationText } from '../../db/ledger/backlogAlarm.js';
import type { Activity, DeliveryFigures, StatusCount } from '../../db/ledger/deliveryFigures.js';
import { findCarrier } from '../../email/carriers/allCarriers.js';
import { deliveryError, REPORTED } from './deliveryErrors.js';
import { readSearch, searchAddress, STATUSES } from './deliveryFilter.js';

/** `Utility.statistics`. */
export interface Statistics extends DeliveryFigures {
  readonly email_types: readonly Activity[];
}

const ARRIVED = ['delivered', 'opened', 'clicked', 'unsubscribed'];
/** What a carrier accepted, as far as known. */
const SENT = ['sent', ...ARRIVED, 'bounced', 'complained'];

/** The figures at the top. Each leads to the list of what it counts. */
const FIGURES: readonly {
  readonly label: string;
  readonly statuses: readonly string[];
  readonly kind: 'plain' | 'good' | 'bad' | 'waiting';
  /** Whether it is shown as a part of what was sent. */
  readonly isRate?: true;
  /** Whether there is none where a carrier reports nothing. */
  readonly isReported?: true;
  /** Left out if there is none. */
  readonly isRare?: true;
}[] = [
  { label: 'Sent', statuses: SENT, kind: 'plain' },
  { label: 'Delivered', statuses: ARRIVED, kind: 'good', isRate: true, isReported: true },
  { label: 'Bounced', statuses: ['bounced'], kind: 'bad', isRate: true },
  { label: 'Complained', statuses: ['complained'], kind: 'bad', isRate: true },
  { label: 'Failed', statuses: ['failed'], kind: 'bad' },
  { label: 'Held back', statuses: ['held_back'], kind: 'waiting' },
  { label: 'Scheduled', statuses: ['scheduled', 'sending'], kind: 'waiting' },
  { label: 'Unknown', statuses: ['unknown'], kind: 'bad', isRare: true },
];

/** The layers of a bar, from the bottom. */
const LAYERS = [
  { name: 'Sent', kind: 'good', statuses: ['sent', ...ARRIVED] },
  { name: 'Scheduled or held back', kind: 'waiting', statuses: ['scheduled', 'sending', 'held_back'] },
  {
    name: 'Failed, bounced or complained',
    kind: 'bad',
    statuses: ['failed', 'bounced', 'complained', 'unknown'],
  },
] as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Counting may take a while if an hour has many deliveries, but not longer. */
const STALE_MS = 15 * 60_000;

/** Whether a relay should have counted since. @param counted null before the first time */
export function areFiguresOld(counted: string | null, nowMs: number): boolean {
  return counted === null || nowMs - Date.parse(counted) > STALE_MS;
}

/** The list of deliveries of these statuses since then. */
export function listAddress(since: string, found: Readonly<Record<string, string>>): string {
  const from = new Date(since).toISOString().slice(0, 16);
  return `/console/deliveries${searchAddress(readSearch({ from, ...found }))}`;
}

export function countOf(counts: readonly StatusCount[], statuses: readonly string[]): number {
  return counts.reduce((sum, each) => sum + (statuses.includes(each.status) ? each.deliveries : 0), 0);
}

export function toFigures({ statuses, since }: Statistics): readonly object[] {
  const sent = countOf(statuses, SENT);
  return FIGURES.flatMap(({ label, statuses: counted, kind, isRate, isReported, isRare }) => {
    const rows = statuses.filter(({ status }) => counted.includes(status));
    const sumOf = (column: 'deliveries' | 'compared' | 'before'): number =>
      rows.reduce((sum, row) => sum + row[column], 0);
    const count = sumOf('deliveries');
    if (count === 0 && isRare) return [];
    return {
      label,
      kind: count === 0 ? 'plain' : kind,
      count: inGroups(count),
      note: [
        ...(isRate && sent > 0 ? [isReported && count === 0 ? 'none reported' : percent(count / sent)] : []),
        ...changeOf(sumOf('compared'), sumOf('before')),
      ].join(', '),
      address: listAddress(since, { status: counted.join(',') }),
    };
  });
}

/** Nothing if there is nothing to compare with. */
function changeOf(now: number, before: number): readonly string[] {
  if (before === 0) return [];
  const change = Math.round((100 * (now - before)) / before);
  return [change === 0 ? 'as before' : `${inGroups(Math.abs(change))} % ${change > 0 ? 'more' : 'fewer'}`];
}

/** Bars of a chart, for an SVG of 100 × 100 that is stretched, with the numbers as a table. */
export function toChart({ times, since }: Statistics, days: number, nowMs: number): object {
  const [stepMs, count] = days === 1 ? [HOUR_MS, 24] : [DAY_MS, days];
  const startMs = Date.parse(since);
  const bars = Array.from({ length: count }, (_, index) => {
    const atMs = startMs + index * stepMs;
    const counts = times.filter(({ time }) => Date.parse(time) === atMs);
    const layers = LAYERS.map(({ statuses }) => countOf(counts, statuses));
    return { atMs, layers, total: layers.reduce((sum, each) => sum + each, 0) };
  });
  const top = niceTop(Math.max(...bars.map(({ total }) => total)));
  const width = 100 / count;
  return {
    isEmpty: bars.every(({ total }) => total === 0),
    unit: days === 1 ? 'Hour' : 'Day',
    layers: LAYERS.map(({ name, kind }) => ({ name, kind })),
    top: inGroups(top),
    middle: top % 2 === 0 ? inGroups(top / 2) : '',
    bars: bars.map(({ atMs, layers, total }, index) => {
      const label = labelOf(atMs, days);
      let y = 100;
      return {
        label,
        isComing: atMs > nowMs,
        numbers: layers.map(inGroups),
        title: `${label}: ${LAYERS.map(({ name }, layer) => `${inGroups(layers[layer] ?? 0)} ${name.toLowerCase()}`).join(', ')}`,
        total,
        rects: layers.flatMap((deliveries, layer) => {
          if (deliveries === 0) return [];
          const height = (100 * deliveries) / top;
          y -= height;
          return {
            kind: LAYERS[layer]?.kind,
            x: rounded(index * width + width * 0.12),
            y: rounded(y),
            width: rounded(width * 0.76),
            height: rounded(height),
          };
        }),
      };
    }),
    labels: [0, Math.floor(count / 2), count - 1].map((index) => labelOf(startMs + index * stepMs, days)),
  };
}

function labelOf(ms: number, days: number): string {
  const text = new Date(ms).toISOString();
  return days === 1 ? text.slice(11, 16) : text.slice(0, 10);
}

/** The next of 1, 2, 5, 10, 20, …: a scale that people can read. */
function niceTop(max: number): number {
  if (max <= 4) return 4;
  const unit = 10 ** Math.floor(Math.log10(max));
  return [1, 2, 4, 6, 8, 10].map((each) => each * unit).find((each) => each >= max) ?? max;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

/** A row of the tables by email type, by carrier and by tenant. */
export function toRow(counts: readonly StatusCount[]): object {
  const sent = countOf(counts, SENT);
  const rateOf = (statuses: readonly string[]): string => {
    const count = countOf(counts, statuses);
    return count === 0 ? '0' : `${inGroups(count)} (${percent(count / Math.max(1, sent))})`;
  };
  const failed = countOf(counts, ['failed', 'unknown']);
  return {
    sent: inGroups(sent),
    delivered: rateOf(ARRIVED),
    bounced: rateOf(['bounced']),
    complained: rateOf(['complained']),
    failed: inGroups(failed),
    waiting: inGroups(countOf(counts, ['scheduled', 'sending', 'held_back'])),
    isBad: failed + countOf(counts, ['bounced', 'complained']) > 0,
  };
}

export function toActivity(activity: Activity): object {
  return {
    ...toRow(activity.statuses),
    name: activity.name,
    newest: activity.newest,
    spark: toSpark(activity.days),
  };
}

/** The points of a line in an SVG of 100 × 20 that is stretched. */
function toSpark(days: readonly number[]): { readonly points: string; readonly title: string } | undefined {
  if (days.length < 2) return undefined;
  const max = Math.max(1, ...days);
  const step = 100 / (days.length - 1);
  return {
    points: days
      .map((value, index) => `${rounded(index * step)},${rounded(19 - (18 * value) / max)}`)
      .join(' '),
    title: `In the last ${days.length} days, at most ${inGroups(max)} on one`,
  };
}

export function toCarriers(carriers: Statistics['carriers']): readonly object[] {
  return [...new Set(carriers.map(({ carrier }) => carrier))].map((name) => ({
    name: findCarrier(name)?.title ?? name,
    ...toRow(carriers.filter(({ carrier }) => carrier === name)),
  }));
}

const MAX_CAUSES = 6;

export function toCauses({ causes, since }: Statistics): readonly object[] {
  return causes.slice(0, MAX_CAUSES).map(({ status, error_code, deliveries }) => ({
    title: (error_code === '' ? ownValue(REPORTED, status) : deliveryError(error_code))?.title ?? error_code,
    status,
    statusLabel: ownValue(STATUSES, status) ?? status,
    count: inGroups(deliveries),
    address: listAddress(since, { status, code: error_code }),
  }));
}

/** How long the oldest of `Utility.backlog` has waited. */
export function oldestText(seconds: number | null): string | undefined {
  return seconds === null ? undefined : durationText(seconds);
}

export function secondsText(seconds: number | null): string | undefined {
  if (seconds === null) return undefined;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 120 ? `${seconds.toPrecision(2)} s` : durationText(seconds);
}

/** 0.034 is 3.4 %. What is not all is never 100 %, and what is not nothing never 0 %. */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${100 * share} %`;
  const value = Math.min(99.9, Math.max(0.1, 100 * share));
  return `${value < 10 || value > 99 ? Math.round(value * 10) / 10 : Math.round(value)} %`;
}

/** 20,000 */
export function inGroups(count: number): string {
  return new Intl.NumberFormat('en').format(count);
}
