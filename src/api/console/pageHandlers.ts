import type { Request, RequestHandler, Response } from 'express';
import type { InTurn } from '../http/readFields.js';
import type { ConsoleSession } from './consoleSession.js';
import type { Query } from './graphqlClient.js';
import type { Values } from './formValues.js';
import type { May } from './may.js';
import type { Page } from '../pages/sendPage.js';

/** What a page handler works with. */
export interface Visit {
  readonly session: ConsoleSession;
  /** At `/roles_pbac`. */
  readonly query: Query;
  /** At `/query`. */
  readonly queryData: Query;
  /** Runs what takes milliseconds of CPU time, or more. Throws AppError TOO_BUSY. */
  readonly inTurn: InTurn;
  /** Whether the role is the tenant's root or an admin: it may do everything there. */
  readonly isAdmin: boolean;
  readonly may: May;
  /** pxadmin or another admin of the installation, which has no emails of its own. */
  readonly isOperator: boolean;
  /** Renders a view within the common layout. */
  readonly show: (view: string, values: object, page?: Page) => Promise<void>;
  /** Sends the HTML of an email, for a frame of a page. */
  readonly showEmail: (html: string) => void;
  /** The fields of the form; empty for a page. */
  readonly values: Values;
}

export type PageHandler = (visit: Visit, req: Request, res: Response) => Promise<void>;

export interface FormOptions {
  /** Maximum size of the submitted form. */
  readonly limitBytes?: number;
  /** The response is shown in a frame on the form's page. */
  readonly framed?: boolean;
}

/** Wraps page handlers: GETs, which change nothing, and POSTs of the console's own forms. */
export interface PageHandlers {
  readonly page: (handle: PageHandler) => RequestHandler;
  readonly form: (handle: PageHandler, kind?: FormOptions) => RequestHandler;
}
