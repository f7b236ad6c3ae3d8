import { Router, type Request, type Response } from 'express';
import { AppError } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { sendPieces } from '../http/sendPieces.js';
import { addressFilter, ADDRESSES, listOf } from './addressPages.js';
import { AUDIT, auditFilter, readAuditSearch } from './auditPage.js';
import { BYTE_ORDER_MARK, csvLine } from './csv.js';
import { readSearch } from './deliveryFilter.js';
import { DELIVERIES } from './deliveryPages.js';
import { exportedAddresses, exportedAudit, exportedDeliveries, type ExportedList } from './exportedLists.js';
import { textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

/** Rows of a file. */
const MAX_EXPORTED = 100_000;
/**
 * Each holds a part of a list in memory and, for a part of the time, a connection. Four tenants can always have one: whoever waits is the
 * next, before they have another.
 */
const EXPORTS = { max: 4, perTenant: 1, waiting: 1, waitMs: 30_000 };

/** Sends a list as a CSV file. */
export type SendCsv = (
  visit: Visit,
  req: Request,
  res: Response,
  name: string,
  list: ExportedList,
) => Promise<void>;

/** Throws AppError TOO_BUSY if others are being sent for too long, and what reading the list throws. */
export function createSendCsv({ consoleSessions, config }: RouteDeps): SendCsv {
  const limiter = new TenantLimiter(EXPORTS);

  return async ({ session, inTurn }, req, res, name, { columns, parts }) => {
    await limiter.run(session.principal.tenantid, () => sendPieces(res, headersOf(name), linesOf(), config));

    async function* linesOf(): AsyncGenerator<string, void> {
      let head = BYTE_ORDER_MARK + csvLine(columns);
      let left = MAX_EXPORTED;
      for await (const rows of parts) {
        // It may have ended while the last part was sent.
        if (!(await consoleSessions.read(req)))
          throw new AppError('TOKEN_MISSING', 'Your session has ended.');
        const some = rows.slice(0, left);
        yield head + (await inTurn(() => some.map(csvLine).join('')));
        head = '';
        left -= rows.length;
        if (left <= 0) return;
      }
    }
  };
}

/** Lists as CSV files: what the pages list for the role, by the same search. */
export function exportPages({ form }: PageHandlers, sendCsv: SendCsv, listMaxLimit: number): Router {
  const sourceOf = ({ query }: Visit) => ({ query, listMaxLimit });
  const deliveries = form((visit, req, res) =>
    sendCsv(visit, req, res, 'deliveries', exportedDeliveries(sourceOf(visit), readSearch(req.query))),
  );
  const addresses = form((visit, req, res) => {
    const list = listOf(req.query);
    const filter = addressFilter(textOf(req.query, 'search'));
    return sendCsv(visit, req, res, list, exportedAddresses(sourceOf(visit), list, filter));
  });
  const audit = form((visit, req, res) =>
    sendCsv(
      visit,
      req,
      res,
      'audit-log',
      exportedAudit(sourceOf(visit), auditFilter(readAuditSearch(req.query))),
    ),
  );

  return Router()
    .post(`${DELIVERIES}/export`, deliveries)
    .post(`${ADDRESSES}/export`, addresses)
    .post(`${AUDIT}/export`, audit);
}

function headersOf(name: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}-${new Date().toISOString().slice(0, 10)}.csv"`,
    'cache-control': 'no-store',
  };
}
