import { Router } from 'express';
import type { AppError } from '../../foundation/errors.js';
import { CONSOLE } from './consolePath.js';
import { problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const TABLES = `${CONSOLE}/tables`;
/** If there are more tables, they have to be searched. */
const MAX_LISTED = 200;

const LIST = '{ Utility { tables { name kind writers } } }';
const ONE = `query ($name: String) { Utility { tables(name: $name) {
  name kind writers columns { name type nullable in_primary_key } relations { field kind target }
} } }`;
const INTROSPECT = '{ Utility { introspect } }';
const CAPTURE =
  'mutation ($table: String!, $writers: capture_writers!) { Utility { set_capture(table_name: $table, writers: $writers) { writers } } }';

/** Pages of the tenant's tables, by the names that templates and rules use, and whose changes to them become events. */
export function tablePages({ page, form }: PageHandlers): Router {
  const list = page(async ({ query, show }, req) => {
    const search = textOf(req.query, 'search');
    const { Utility } = await query<{ Utility: { readonly tables: readonly { readonly name: string }[] } }>(
      LIST,
    );
    const found = Utility.tables.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
    await show('tables', {
      title: 'Tables',
      search,
      tables: found.slice(0, MAX_LISTED),
      more: Math.max(0, found.length - MAX_LISTED),
    });
  });

  const one = page((visit, req) => showTable(visit, textOf(req.params, 'name')));

  const change = form(async (visit, req, res) => {
    const { values, query } = visit;
    const name = textOf(req.params, 'name');
    try {
      await query(CAPTURE, { table: name, writers: values['writers'] === 'all' ? 'all' : 'api' });
      res.redirect(303, `${TABLES}/${encodeURIComponent(name)}`);
    } catch (error) {
      await showTable(visit, name, problemOf(error));
    }
  });

  const introspect = form(async ({ query }, _req, res) => {
    await query(INTROSPECT);
    res.redirect(303, TABLES);
  });

  return Router()
    .get(TABLES, list)
    .post(TABLES, introspect)
    .get(`${TABLES}/:name`, one)
    .post(`${TABLES}/:name`, change);
}

async function showTable({ query, show }: Visit, name: string, problem?: AppError): Promise<void> {
  const { Utility } = await query<{ Utility: { readonly tables: readonly object[] } }>(ONE, { name });
  await show(
    'table',
    {
      title: name,
      table: Utility.tables[0],
    },
    { problem },
  );
}
