import { Router } from 'express';
import { requireDeliveryRepairer, requireDeliveryViewer } from '../../control/permissions.js';
import { AppError } from '../../foundation/errors.js';
import { literal, readSearch, searchAddress } from './deliveryFilter.js';
import { DELIVERIES, UNSENT_STATES } from './deliveryPages.js';
import { addressIn, ROW, toDelivery, type DeliveryRow } from './deliveryView.js';
import type { SendCsv } from './exportPages.js';
import { selectedDeliveries } from './exportedLists.js';
import { checkedOf, textOf, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

/** The prefix of the names of the boxes. */
const BOX = 'delivery_';
/** What a page lists. */
const MAX_SELECTED = 50;

const SELECTED = `query ($filter: String) {
  email_delivery(filter: $filter, ordering: ["deliveryid desc"], limit: ${MAX_SELECTED}) { ${ROW} }
}`;
const REDRIVE = 'mutation ($id: ID!) { Utility { redrive_email_delivery(deliveryid: $id) { state } } }';
const SUPPRESS = `mutation ($input: email_suppressionInput) { create_email_suppression(input: $input) { address } }`;

/** What is done to one delivery. Throws the AppError that says why not. */
type Act = (query: Visit['query'], row: DeliveryRow) => Promise<void>;

/** Deliveries that are selected in the list, by a form without scripts. Safe to send again: what was done is refused then. */
export function selectedPages({ form }: PageHandlers, sendCsv: SendCsv): Router {
  const act = form(async (visit, req, res) => {
    const { query, session, show, values } = visit;
    const isExport = values['action'] === 'export';
    if (isExport) requireDeliveryViewer(session.principal);
    else requireDeliveryRepairer(session.principal);
    const { email_delivery: rows } = await query<{ email_delivery: readonly DeliveryRow[] }>(SELECTED, {
      filter: `deliveryid in [${selectedIn(values).map(literal).join(', ')}]`,
    });
    if (isExport) {
      await sendCsv(visit, req, res, 'deliveries', selectedDeliveries(rows));
      return;
    }
    const isSuppression = values['action'] === 'suppress';
    const meant = isSuppression ? withoutRepeated(rows) : rows;
    const refused: object[] = [];
    // One by one: that one is refused doesn't undo the others.
    for (const row of meant) {
      const why = await refusalOf((isSuppression ? suppress : resend)(query, row));
      if (why) refused.push({ ...toDelivery(row), why: why.message });
    }
    await show('selected', {
      title: isSuppression ? 'Suppressed' : 'Sent again',
      isSuppression,
      done: meant.length - refused.length,
      refused,
      back: DELIVERIES + searchAddress(readSearch(req.query)),
    });
  });

  return Router().post(`${DELIVERIES}/selected`, act);
}

/** The ids of the checked boxes, or of all on the page. Throws AppError BAD_USER_INPUT. */
function selectedIn(values: Values): readonly string[] {
  const given =
    values['all'] === undefined ? checkedOf(values, BOX) : textOf(values, 'shown', 1_100).split(',');
  const ids = [...new Set(given.filter((id) => /^\d{1,19}$/.test(id)))];
  if (ids.length > 0 && ids.length <= MAX_SELECTED) return ids;
  throw new AppError(
    'BAD_USER_INPUT',
    ids.length === 0 ? 'No delivery is selected.' : `More than ${MAX_SELECTED} deliveries are selected.`,
    {
      hint: 'Go back and check the boxes of those you mean.',
    },
  );
}

/** Why it was not done, if so. Rethrows what says nothing about the delivery. */
async function refusalOf(work: Promise<void>): Promise<AppError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'PERMISSION_DENIED') return error;
    throw error;
  }
}

/** Of several to one address, the newest. */
function withoutRepeated(rows: readonly DeliveryRow[]): readonly DeliveryRow[] {
  const seen = new Set<string>();
  return rows.filter(({ intended_recipients }) => {
    const [only, ...others] = intended_recipients ?? [];
    if (only === undefined || others.length > 0) return true;
    const address = addressIn(only);
    return !seen.has(address) && seen.add(address);
  });
}

/** Not what was sent: it would arrive twice, which its own page asks about. */
const resend: Act = async (query, { deliveryid, state }) => {
  if (!UNSENT_STATES.has(state)) {
    const why = state === 'sent' ? 'It was sent. Send it again on its own page.' : 'It is still being sent.';
    throw new AppError('REDRIVE_NOT_ALLOWED', why);
  }
  await query(REDRIVE, { id: deliveryid });
};

/** Not one of several recipients: which of them is meant is not known. */
const suppress: Act = async (query, { deliveryid, intended_recipients }) => {
  const [only, ...others] = intended_recipients ?? [];
  if (only === undefined) throw new AppError('BAD_USER_INPUT', 'Nobody knows whom it is for.');
  if (others.length > 0) {
    throw new AppError(
      'BAD_USER_INPUT',
      'It is for several people. Suppress those you mean under Addresses.',
    );
  }
  await query(SUPPRESS, { input: { address: addressIn(only), reason: `By delivery ${deliveryid}` } });
};
