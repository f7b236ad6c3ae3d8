import { Router } from 'express';
import { durationText } from '../../db/ledger/backlogAlarm.js';
import type { AppError } from '../../foundation/errors.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { numberOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { pageOf, ROWS_QUERIED } from './paging.js';

const TENANTS = `${CONSOLE}/tenants`;

const LIST = `query ($filter: String, $limit: Int, $offset: Int) {
  tenant(filter: $filter, ordering: ["name"], limit: $limit, offset: $offset) {
    tenantid name schema suspended createtime
  }
  Utility { backlog { events batches waiting retries later paused oldest_seconds tenants { tenantid waiting } } }
}`;
const CREATE = 'mutation ($input: tenantInput) { create_tenant(input: $input) { tenantid name } }';
const UPDATE =
  'mutation ($tenantid: ID!, $input: tenantInput) { update_tenant(tenantid: $tenantid, input: $input) { tenantid } }';

interface Tenant {
  readonly tenantid: Id;
  readonly schema: string | null;
}

interface Backlog {
  readonly oldest_seconds: number | null;
  readonly tenants: readonly { readonly tenantid: Id; readonly waiting: number }[];
}

/** Pages for pxadmin: tenants and their email backlog. */
export function tenantPages({ page, form }: PageHandlers): Router {
  const list = page((visit, req) => showList(visit, req.query));

  const change = form(async (visit, _req, res) => {
    const { values, query } = visit;
    try {
      if (values['action'] === 'create') {
        await query(CREATE, {
          input: {
            name: textOf(values, 'name'),
            root_login: textOf(values, 'root_login'),
            root_password: values['secret'],
          },
        });
      } else {
        const suspended = values['action'] === 'suspend';
        await query(UPDATE, { tenantid: textOf(values, 'tenantid'), input: { suspended } });
      }
      const search = textOf(values, values['action'] === 'create' ? 'name' : 'search');
      res.redirect(303, linkTo(TENANTS, { search }));
    } catch (error) {
      await showList(visit, values, problemOf(error));
    }
  });

  return Router().get(TENANTS, list).post(TENANTS, change);
}

async function showList({ query, show }: Visit, given: Values, problem?: AppError): Promise<void> {
  const search = textOf(given, 'search');
  const from = numberOf(given, 'from');
  const { tenant, Utility } = await query<{
    tenant: readonly Tenant[];
    Utility: { readonly backlog: Backlog };
  }>(LIST, {
    filter: search === '' ? '' : `name like ${literal(containing(search))}`,
    limit: ROWS_QUERIED,
    offset: from,
  });
  const { backlog } = Utility;
  const waiting = new Map(backlog.tenants.map((each) => [String(each.tenantid), each.waiting]));
  const { shown, ...links } = pageOf(tenant, from, TENANTS, { search });
  await show(
    'tenants',
    {
      title: 'Tenants',
      search,
      backlog: {
        ...backlog,
        oldest: backlog.oldest_seconds === null ? undefined : durationText(backlog.oldest_seconds),
      },
      tenants: shown.map((each) => ({
        ...each,
        waiting: waiting.get(String(each.tenantid)) ?? 0,
        isInstallation: each.schema === null,
      })),
      ...links,
      given: problem && { name: textOf(given, 'name'), root_login: textOf(given, 'root_login') },
    },
    { problem },
  );
}
