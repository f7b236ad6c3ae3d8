import { Router } from 'express';
import { tenant } from '../../control/objects/tenant.js';
import type { AppError } from '../../foundation/errors.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import { oldestText } from './overviewView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const TENANTS = `${CONSOLE}/tenants`;

const BACKLOG = `{ Utility {
  backlog { events batches waiting retries later paused oldest_seconds tenants { tenantid waiting } }
} }`;

interface Tenant {
  readonly tenantid: Id;
  readonly schema: string | null;
}

interface Backlog {
  readonly oldest_seconds: number | null;
  readonly tenants: readonly { readonly tenantid: Id; readonly waiting: number }[];
}

const tenants = new ObjectRequests<Tenant>(tenant, 'tenantid name schema suspended createtime', ['name']);

/** Pages for pxadmin: tenants and their email backlog. */
export function tenantPages({ page, form }: PageHandlers): Router {
  const list = page((visit, req) => showList(visit, req.query));

  const change = form(async (visit, _req, res) => {
    const { values } = visit;
    try {
      if (values['action'] === 'create') {
        await tenants.create(visit, {
          name: textOf(values, 'name'),
          root_login: textOf(values, 'root_login'),
          root_password: values['secret'],
        });
      } else {
        const suspended = values['action'] === 'suspend';
        await tenants.update(visit, textOf(values, 'tenantid'), { suspended });
      }
      const search = textOf(values, values['action'] === 'create' ? 'name' : 'search');
      res.redirect(303, linkTo(TENANTS, { search }));
    } catch (error) {
      await showList(visit, values, problemOf(error));
    }
  });

  return Router().get(TENANTS, list).post(TENANTS, change);
}

async function showList(visit: Visit, given: Values, problem?: AppError): Promise<void> {
  const search = textOf(given, 'search');
  const { shown, ...links } = await tenants.page(visit, TENANTS, given, {
    filter: search === '' ? '' : `name like ${literal(containing(search))}`,
    search: { search },
  });
  const { backlog } = (await visit.query<{ Utility: { readonly backlog: Backlog } }>(BACKLOG)).Utility;
  const waiting = new Map(backlog.tenants.map((each) => [String(each.tenantid), each.waiting]));
  await visit.show(
    'tenants',
    {
      title: 'Tenants',
      search,
      backlog: { ...backlog, oldest: oldestText(backlog.oldest_seconds) },
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
