import type { Request, RequestHandler, Response } from 'express';
import type { AskControl } from './askControl.js';
import type { Page } from './sendPage.js';

/** What a page is made of. */
export interface Visit {
  readonly ask: AskControl;
  /** Whether it may do more than look at deliveries: a page does not offer what would be refused. */
  readonly isAdmin: boolean;
  /** pxadmin, or an admin beside it: of the installation, which has no emails of its own. */
  readonly isOperator: boolean;
  /** Shows a view within the frame of all pages. */
  readonly show: (view: string, values: object, page?: Page) => Promise<void>;
  /** The fields of the form; of a page none. */
  readonly values: Readonly<Record<string, unknown>>;
}

export type PageHandler = (visit: Visit, req: Request, res: Response) => Promise<void>;

export interface FormKind {
  /** Of the form as it is sent. */
  readonly limitBytes?: number;
  /** The answer is shown in a frame of the page that has the form. */
  readonly framed?: boolean;
}

/** Makes handlers of pages: GETs, which change nothing, and POSTs of the console's own forms. */
export interface PageKinds {
  readonly page: (handle: PageHandler) => RequestHandler;
  readonly form: (handle: PageHandler, kind?: FormKind) => RequestHandler;
}
