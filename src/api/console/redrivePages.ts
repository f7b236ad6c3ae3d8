import { Router } from 'express';
import { formText } from '../http/formText.js';
import { DELIVERIES, FINAL_STATES, readDelivery, REDRIVE_ALL, requireId } from './deliveryPages.js';
import { deliveryError } from './deliveryErrors.js';
import {
  conditionsOf,
  conditionsOfPeriod,
  periodOf,
  readSearch,
  searchAddress,
  type Search,
} from './deliveryFilter.js';
import { toDelivery } from './deliveryView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const REDRIVE = 'mutation ($id: ID!) { Utility { redrive_email_delivery(deliveryid: $id) { state } } }';
const REDRIVE_MANY = 'mutation ($filter: String) { Utility { redrive_email_deliveries(filter: $filter) } }';
const COUNT = `query ($filter: String) {
  email_delivery(limit: 0) { deliveryid }
  Aggregates { count(subquery: "{ email_delivery { deliveryid } }", filter: $filter) }
}`;

/** Pages to redrive one delivery or all matches of a search, after a confirmation that states the consequences. */
export function redrivePages({ page, form }: PageHandlers): Router {
  const confirmOne = page(async ({ query, show, isAdmin, may }, req) => {
    const row = await readDelivery({ query, isAdmin }, req);
    await show('redrive', {
      title: 'Send again?',
      delivery: toDelivery(row),
      mayRedrive: may.repairDeliveries && FINAL_STATES.has(row.state),
      arrivesTwice: row.state === 'sent' || row.state === 'unknown',
    });
  });

  const redriveOne = form(async ({ query }, req, res) => {
    const deliveryid = requireId(req);
    await query(REDRIVE, { id: deliveryid });
    res.redirect(303, `${DELIVERIES}/${deliveryid}?done=redriven`);
  });

  const confirmAll = page(async ({ query, show, may }, req) => {
    const search = readSearch(req.query);
    const done = /^\d{1,7}$/.exec(formText(req.query, 'done'))?.[0];
    await show('redrive-all', {
      title: done === undefined ? 'Send all of these again?' : 'Sent again',
      cause: search.code === '' ? undefined : deliveryError(search.code).title,
      since: periodOf(search).since,
      count: await countUnsent(query, search),
      mayRedrive: may.repairDeliveries,
      done,
      action: REDRIVE_ALL + searchAddress(search),
      back: DELIVERIES + searchAddress(search),
    });
  });

  const redriveAll = form(async ({ query }, req, res) => {
    const search = readSearch(req.query);
    const { Utility } = await query<{ Utility: { redrive_email_deliveries: number } }>(REDRIVE_MANY, {
      filter: unsent(search).join(' and '),
    });
    const done = String(Utility.redrive_email_deliveries);
    res.redirect(303, REDRIVE_ALL + searchAddress(search, { done }));
  });

  return Router()
    .get(REDRIVE_ALL, confirmAll)
    .post(REDRIVE_ALL, redriveAll)
    .get(`${DELIVERIES}/:deliveryid/redrive`, confirmOne)
    .post(`${DELIVERIES}/:deliveryid/redrive`, redriveOne);
}

/** The filter for `redrive_email_deliveries`, which uses the index of deliveries with an error. */
function unsent(search: Search): readonly string[] {
  return ['error_code is not null', ...conditionsOfPeriod(periodOf(search)), ...conditionsOf(search)];
}

async function countUnsent(query: Visit['query'], search: Search): Promise<number> {
  const filter = [...unsent(search), "state in ['failed', 'skipped', 'unknown']"].join(' and ');
  const { Aggregates } = await query<{ Aggregates: { count: readonly { count: number }[] } }>(COUNT, {
    filter,
  });
  return Aggregates.count[0]?.count ?? 0;
}
