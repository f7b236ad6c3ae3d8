import { Router } from 'express';
import { AUDITS } from '../../control/audit/auditedMutations.js';
import type { Difference } from '../../control/audit/recordChange.js';
import { auditEvent } from '../../control/objects/auditEvent.js';
import { OBJECTS } from '../../control/objects/index.js';
import { textOfValue } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { shortened, textOf, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers } from './pageHandlers.js';

export const AUDIT = `${CONSOLE}/audit`;
const MAX_SHOWN_CHARACTERS = 300;

interface Event {
  readonly object: string;
  readonly operation: string;
  readonly changes: readonly Difference[];
}

const events = new ObjectRequests<Event>(
  auditEvent,
  'eventid time roleid login actors keyid object key operation changes',
  ['time desc', 'eventid'],
);

/** What can be changed, by the name in the log. */
export const LABELS = new Map<string, string>([
  ...OBJECTS.filter((object) => 'mayChange' in object).map(({ table, label }) => [table, label] as const),
  ['email_transport', 'carrier'],
  ['email_webhook', 'reports of carriers'],
  ['email_type_version', 'draft'],
  ['email_delivery', 'delivery'],
  ['captured_table', 'captured table'],
  ['file_table', 'table with files'],
  ['sign_in_brand', 'sign-in page'],
  ['password_sender', 'sender of links for forgotten passwords'],
  ['session', 'session'],
]);
const DID: Readonly<Record<string, string>> = {
  create: 'created the',
  update: 'changed the',
  delete: 'deleted the',
};

const MADE: ReadonlySet<string> = new Set(['tenantid', 'creatorid', 'createtime']);
const EMPTY: ReadonlySet<string> = new Set(['', '[]', '{}']);

/** The page of who changed what. */
export function auditPage({ page }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const search = readAuditSearch(req.query);
    const filter = auditFilter(search);
    const { shown, ...links } = await events.page(visit, AUDIT, req.query, { filter, search });
    await visit.show('audit', {
      title: 'Audit log',
      ...search,
      isSearched: filter !== '',
      exported: linkTo(`${AUDIT}/export`, search),
      objects: [...LABELS].map(([name, label]) => ({ name, label, chosen: name === search.object })),
      events: shown.map((event) => ({ ...event, ...inWords(event) })),
      ...links,
    });
  });

  return Router().get(AUDIT, list);
}

type AuditSearch = Readonly<Record<'object' | 'who' | 'key', string>>;

export function readAuditSearch(given: Values): AuditSearch {
  return { object: textOf(given, 'object'), who: textOf(given, 'who'), key: textOf(given, 'key') };
}

export function auditFilter({ object, who, key }: AuditSearch): string {
  return [
    object === '' ? [] : `object = ${literal(object)}`,
    who === '' ? [] : `login ilike ${literal(containing(who))}`,
    key === '' ? [] : `key = ${literal(key)}`,
  ]
    .flat()
    .join(' and ');
}

function inWords({ object, operation, changes }: Event): object {
  const verb = ownValue(DID, operation);
  return {
    did: verb ? `${verb} ${LABELS.get(object) ?? object}` : (ownValue(AUDITS, operation)?.did ?? operation),
    changes: changes
      .filter((change) => operation !== 'create' || isTelling(change))
      .map(({ column, before, after }) => ({
        column,
        before: shownValue(before),
        after: shownValue(after),
      })),
  };
}

/** Of something new: when and by whom it was made is said anyway. */
function isTelling({ column, after }: Difference): boolean {
  return !MADE.has(column) && !EMPTY.has(textOfValue(after));
}

function shownValue(value: unknown): string | null {
  return value === null ? null : shortened(textOfValue(value), MAX_SHOWN_CHARACTERS);
}
