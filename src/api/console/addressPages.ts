import { Router } from 'express';
import { emailSuppression } from '../../control/objects/emailSuppression.js';
import { emailUnsubscribe } from '../../control/objects/emailUnsubscribe.js';
import type { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { itemsOf, problemOf, textOf, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

export const ADDRESSES = `${CONSOLE}/addresses`;

/** The lists of blocked addresses. */
const LISTS = {
  suppressed: new ObjectRequests(emailSuppression, 'address reason source deliveryid createtime', [
    'address',
  ]),
  unsubscribed: new ObjectRequests(emailUnsubscribe, 'address email_types all_types source createtime', [
    'address',
  ]),
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
    const { values } = visit;
    const name = listOf(values);
    const address = textOf(values, 'address');
    try {
      const isRemoved = values['action'] === 'remove';
      if (isRemoved) await LISTS[name].remove(visit, address);
      else await LISTS[name].create(visit, inputOf(name, values));
      const done = isRemoved ? 'removed' : 'added';
      res.redirect(303, linkTo(ADDRESSES, { list: name, search: textOf(values, 'search'), done }));
    } catch (error) {
      await showList(visit, values, problemOf(error));
    }
  });

  return Router().get(ADDRESSES, list).post(ADDRESSES, change);
}

async function showList(visit: Visit, given: Values, problem?: AppError): Promise<void> {
  const name = listOf(given);
  const search = textOf(given, 'search');
  const { shown, ...links } = await LISTS[name].page(visit, ADDRESSES, given, {
    filter: addressFilter(search),
    search: { list: name, search },
  });
  await visit.show(
    'addresses',
    {
      title: 'Addresses',
      list: name,
      // What people have decided themselves only administrators undo.
      mayChange: visit.isAdmin || name === 'suppressed',
      search,
      exported: linkTo(`${ADDRESSES}/export`, { list: name, search }),
      rows: shown,
      ...links,
      given: { address: textOf(given, 'address'), note: textOf(given, 'note') },
      notice: ownValue(NOTICES, textOf(given, 'done')),
    },
    { problem },
  );
}

export function addressFilter(search: string): string {
  return search === '' ? '' : `address like ${literal(containing(search.toLowerCase()))}`;
}

/** The note is the reason, or the email types; no note means all types. */
function inputOf(name: ListName, values: Values): Values {
  const [address, note] = [textOf(values, 'address'), textOf(values, 'note')];
  if (name === 'suppressed') return { address, reason: note };
  const types = itemsOf(values, 'note');
  return { address, email_types: types, all_types: types.length === 0 };
}

export function listOf(values: Values): ListName {
  return values['list'] === 'unsubscribed' ? 'unsubscribed' : 'suppressed';
}
