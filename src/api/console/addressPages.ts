import { Router } from 'express';
import type { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { itemsOf, numberOf, problemOf, textOf, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { pageOf, ROWS_QUERIED } from './paging.js';

const ADDRESSES = `${CONSOLE}/addresses`;

/** How each list of blocked addresses is read and changed. */
const LISTS = {
  suppressed: {
    read: `query ($filter: String, $limit: Int, $offset: Int) {
      rows: email_suppression(filter: $filter, ordering: ["address"], limit: $limit, offset: $offset) {
        address reason source deliveryid createtime
      }
    }`,
    add: 'mutation ($input: email_suppressionInput) { create_email_suppression(input: $input) { address } }',
    remove: 'mutation ($address: ID!) { delete_email_suppression(address: $address) { address } }',
  },
  unsubscribed: {
    read: `query ($filter: String, $limit: Int, $offset: Int) {
      rows: email_unsubscribe(filter: $filter, ordering: ["address"], limit: $limit, offset: $offset) {
        address email_types all_types source createtime
      }
    }`,
    add: 'mutation ($input: email_unsubscribeInput) { create_email_unsubscribe(input: $input) { address } }',
    remove: 'mutation ($address: ID!) { delete_email_unsubscribe(address: $address) { address } }',
  },
} as const;
const NOTICES: Readonly<Record<string, string>> = {
  added: 'Added.',
  removed: 'Removed. The address gets email again.',
};
type ListName = keyof typeof LISTS;

/** Pages of addresses that get no email: suppressed ones, and those that have unsubscribed. */
export function addressPages({ page, form }: PageHandlers): Router {
  const list = page((visit, req) => showList(visit, req.query));

  const change = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const name = listOf(values);
    const address = textOf(values, 'address');
    try {
      const isRemoved = values['action'] === 'remove';
      if (isRemoved) await query(LISTS[name].remove, { address });
      else await query(LISTS[name].add, { input: inputOf(name, values) });
      const done = isRemoved ? 'removed' : 'added';
      res.redirect(303, linkTo(ADDRESSES, { list: name, search: textOf(values, 'search'), done }));
    } catch (error) {
      await showList(visit, values, problemOf(error));
    }
  });

  return Router().get(ADDRESSES, list).post(ADDRESSES, change);
}

async function showList({ query, show }: Visit, given: Values, problem?: AppError): Promise<void> {
  const name = listOf(given);
  const search = textOf(given, 'search');
  const from = numberOf(given, 'from');
  const { rows } = await query<{ rows: readonly Values[] }>(LISTS[name].read, {
    filter: search === '' ? '' : `address like ${literal(containing(search.toLowerCase()))}`,
    limit: ROWS_QUERIED,
    offset: from,
  });
  const { shown, ...links } = pageOf(rows, from, ADDRESSES, { list: name, search });
  await show(
    'addresses',
    {
      title: 'Addresses',
      list: name,
      search,
      rows: shown,
      ...links,
      given: problem && { address: textOf(given, 'address'), note: textOf(given, 'note') },
      notice: ownValue(NOTICES, textOf(given, 'done')),
    },
    { problem },
  );
}

/** The note is the reason, or the email types; no note means all types. */
function inputOf(name: ListName, values: Values): Values {
  const [address, note] = [textOf(values, 'address'), textOf(values, 'note')];
  if (name === 'suppressed') return { address, reason: note };
  const types = itemsOf(values, 'note');
  return { address, email_types: types, all_types: types.length === 0 };
}

function listOf(values: Values): ListName {
  return values['list'] === 'unsubscribed' ? 'unsubscribed' : 'suppressed';
}
