import { Router, type Request, type RequestHandler, type Response } from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  readUnsubscribed,
  resubscribe,
  unsubscribe,
  type Unsubscribed,
} from '../../db/email/unsubscribes.js';
import {
  openUnsubscribeLink,
  PREVIEW,
  UNSUBSCRIBE_PATH,
  type UnsubscribeLink,
} from '../../email/unsubscribeLink.js';
import { UnidentifiedTurns } from '../http/unidentifiedTurns.js';
import { consumePoint } from '../http/consumePoint.js';
import { readBytes } from '../http/readFields.js';
import { sendPage } from '../pages/sendPage.js';
import type { RouteDeps } from '../http/routeDeps.js';

const MAX_BODY_BYTES = 4_096;
/** Per recipient. Each change is a write, and people only need a few. */
const CHANGES_PER_MINUTE = 30;
const WINDOW_SECONDS = 60;

/**
 * `/unsubscribe/<sealed link>`, the target of the email's link and of its header `List-Unsubscribe`. GET changes nothing,
 * since mailboxes and scanners follow links. A POST, one click in a mailbox (RFC 8058) or the page's buttons, takes effect immediately.
 */
export function unsubscribeRoutes({
  database: { ledger, ledgerPool },
  keyRing,
  principals,
  turns,
  config,
}: RouteDeps): Router {
  // Of these, the relay and workers need some, if they are in this process.
  const ledgerTurns = new UnidentifiedTurns(ledgerPool, config);
  const changes = new RateLimiterMemory({ points: CHANGES_PER_MINUTE, duration: WINDOW_SECONDS });

  const open = async (req: Request, res: Response): Promise<Opened | undefined> => {
    const sealed = String(req.params['link']);
    if (sealed === PREVIEW) {
      await send(res, 200, 'note', PREVIEW_NOTE);
      return undefined;
    }
    const link = openUnsubscribeLink(keyRing, sealed);
    if (link) await turns.run(req, () => principals.requireTenantInThisCell(link.tenantid));
    const now = link && (await ledgerTurns.run(req, () => readUnsubscribed(ledger, link)));
    if (link && now) return { link, now };
    await send(res, 404, 'note', INVALID_NOTE);
    return undefined;
  };

  const show: RequestHandler = async (req, res) => {
    const opened = await open(req, res);
    if (opened) await send(res, 200, 'unsubscribe', viewOf(opened));
  };

  const change: RequestHandler = async (req, res) => {
    const choice = await readChoice(req);
    const opened = await open(req, res);
    if (!opened) return;
    const { link } = opened;
    await consumePoint(changes, `${link.tenantid} ${link.address}`, 'Too many changes within a minute.');
    const all = choice === 'all' || (choice === 'one-click' && link.from === 'all');
    const now = await ledgerTurns.run(req, async () => {
      if (choice === 'subscribe') await resubscribe(ledger, link);
      else await unsubscribe(ledger, { ...link, emailType: all ? null : link.emailType });
      return readUnsubscribed(ledger, link);
    });
    if (now) await send(res, 200, 'unsubscribe', viewOf({ link, now }));
    else await send(res, 200, 'note', INVALID_NOTE);
  };

  return Router().get(`${UNSUBSCRIBE_PATH}:link`, show).post(`${UNSUBSCRIBE_PATH}:link`, change);
}

const CHOICES = ['type', 'all', 'subscribe'] as const;
type Choice = (typeof CHOICES)[number] | 'one-click';

/**
 * What the page's buttons send. Anything else is one click, for which the sealed link suffices: mailboxes have types and bodies of their
 * own, and some have none. Throws AppError BODY_TOO_LARGE.
 */
async function readChoice(req: Request): Promise<Choice> {
  const form = new URLSearchParams((await readBytes(req, MAX_BODY_BYTES)).toString());
  return CHOICES.find((known) => known === form.get('choice')?.trim()) ?? 'one-click';
}

interface Opened {
  readonly link: UnsubscribeLink;
  readonly now: Unsubscribed;
}

/** What the recipient is subscribed to. */
function viewOf({ link: { address, emailType }, now: { tenant, thisType, allTypes } }: Opened): object {
  const isOff = allTypes || thisType;
  const title = isOff ? 'Unsubscribed' : 'Unsubscribe';
  return { title, isOff, allTypes, tenant, address, kind: emailType.replaceAll('_', ' ') };
}

const PREVIEW_NOTE = {
  title: 'Unsubscribe',
  text: 'This email is a preview or a test. In the email that is sent, this link unsubscribes its recipient.',
};
const INVALID_NOTE = {
  title: 'This link does not work',
  text: 'It may be incomplete: open it from the email, or copy it as a whole.',
};

async function send(res: Response, status: number, view: string, values: object): Promise<void> {
  // Search engines may find links that were shared.
  res.setHeader('x-robots-tag', 'noindex');
  await sendPage(res, view, values, { status, isSecretAddress: true });
}
