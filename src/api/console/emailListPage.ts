import { Router } from 'express';
import type { Config } from '../../config/config.js';
import { withNames, type SendingAccounts } from './carrierForms.js';
import { CONSOLE } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { numberOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { pageOf, ROWS_QUERIED } from './paging.js';
import { sortingOf } from './sorting.js';

export const EMAILS = `${CONSOLE}/emails`;
const LIST = `query ($filter: String, $ordering: [String!], $limit: Int, $offset: Int) {
  email_types(filter: $filter, ordering: $ordering, limit: $limit, offset: $offset) { email_type subject createtime }
}`;
const ACCOUNTS =
  '{ Utility { email_transport { transports { kind host domain } paused_code paused_reason } } }';
const DRAFTS = `{ email_type_version(filter: "version = 0", ordering: ["email_type"], limit: 50) { email_type } }`;
const SAVED = 'query ($filter: String) { email_types(filter: $filter, limit: 50) { email_type } }';

const COLUMNS = {
  name: { label: 'Name', up: ['email_type'], down: ['email_type desc'] },
  subject: { label: 'Subject', up: ['subject', 'email_type'], down: ['subject desc', 'email_type desc'] },
  created: {
    label: 'Created',
    up: ['createtime', 'email_type'],
    down: ['createtime desc', 'email_type desc'],
  },
};

/** The tenant's email types and drafts, and whether anything can be sent. */
export function emailListPage({ page }: PageHandlers, mailTransport: Config['mailTransport']): Router {
  const list = page(async ({ query, show, isAdmin }, req) => {
    const search = textOf(req.query, 'search');
    const from = numberOf(req.query, 'from');
    const filter =
      search === ''
        ? ''
        : `contains(lower(email_type), ${literal(search.toLowerCase())}) or contains(lower(subject), ${literal(search.toLowerCase())})`;
    const { ordering, heads, sort } = sortingOf(COLUMNS, req.query, EMAILS, { search });
    const { email_types } = await query<{ email_types: readonly object[] }>(LIST, {
      filter,
      ordering,
      limit: ROWS_QUERIED,
      offset: from,
    });
    const { shown, ...links } = pageOf(email_types, from, EMAILS, { search, sort });
    const drafts = await readDrafts(query, isAdmin);
    const account = isAdmin ? await readAccount(query) : undefined;
    await show('emails', {
      title: 'Emails',
      account,
      isMailbox: mailTransport === 'mailbox',
      emails: shown,
      search,
      sort,
      heads,
      drafts: search === '' && from === 0 ? drafts : [],
      notice: req.query['done'] === undefined ? undefined : 'Deleted.',
      ...links,
    });
  });

  return Router().get(EMAILS, list);
}

/** Only admins write new emails, and so the drafts of these. */
async function readDrafts(query: Visit['query'], isAdmin: boolean): Promise<readonly object[]> {
  const { email_type_version: drafts } = await query<{
    email_type_version: readonly { readonly email_type: string }[];
  }>(DRAFTS);
  if (isAdmin || drafts.length === 0) return drafts;
  const filter = `email_type in [${drafts.map(({ email_type }) => literal(email_type)).join(', ')}]`;
  return (await query<{ email_types: readonly object[] }>(SAVED, { filter })).email_types;
}

async function readAccount(query: Visit['query']): Promise<ReturnType<typeof withNames>> {
  const { Utility } = await query<{ Utility: { email_transport: SendingAccounts | null } }>(ACCOUNTS);
  return withNames(Utility.email_transport);
}
