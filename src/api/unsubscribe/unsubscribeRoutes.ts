import { Router, type Request, type RequestHandler, type Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Ledger } from '../../db/connection/ledger.js';
import {
  readUnsubscribed,
  resubscribe,
  unsubscribe,
  type Unsubscribed,
} from '../../db/delivery/unsubscribes.js';
import {
  openUnsubscribeLink,
  PREVIEW,
  UNSUBSCRIBE_PATH,
  type UnsubscribeLink,
} from '../../email/unsubscribeLink.js';
import type { PrincipalSource } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import type { KeyRing } from '../../secrets.js';
import type { Html } from '../mailbox/html.js';
import { readFields } from '../http/readFields.js';
import { invalidLinkPage, previewPage, unsubscribePage } from './unsubscribePage.js';

export interface UnsubscribeDeps {
  readonly principals: Pick<PrincipalSource, 'requireHere'>;
  readonly ledger: Ledger;
  readonly keyRing: KeyRing;
}

const MAX_BODY_BYTES = 4_096;
/** Per recipient. Each change is a write, and people only need a few. */
const CHANGES_PER_MINUTE = 30;
const WINDOW_SECONDS = 60;

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * `/unsubscribe/<sealed link>`, the target of the mail's link and of its header `List-Unsubscribe`. GET changes nothing,
 * since mailboxes and scanners follow links. `POST List-Unsubscribe=One-Click` (RFC 8058) and the page's buttons take effect
 * immediately.
 */
export function unsubscribeRoutes({ ledger, keyRing, principals }: UnsubscribeDeps): Router {
  const changes = new RateLimiterMemory({ points: CHANGES_PER_MINUTE, duration: WINDOW_SECONDS });

  const open = async (
    req: Request,
    res: Response,
  ): Promise<{ readonly link: UnsubscribeLink; readonly now: Unsubscribed } | undefined> => {
    const sealed = String(req.params['link']);
    if (sealed === PREVIEW) {
      send(res, 200, previewPage());
      return undefined;
    }
    const link = openUnsubscribeLink(keyRing, sealed);
    if (link) await principals.requireHere(link.tenantid);
    const now = link && (await readUnsubscribed(ledger, link));
    if (link && now) return { link, now };
    send(res, 404, invalidLinkPage());
    return undefined;
  };

  const show: RequestHandler = async (req, res) => {
    const opened = await open(req, res);
    if (opened) send(res, 200, unsubscribePage(opened.link, opened.now));
  };

  const change: RequestHandler = async (req, res) => {
    const choice = await readChoice(req);
    const opened = await open(req, res);
    if (!opened) return;
    const { link } = opened;
    await consume(changes, `${link.tenantid} ${link.address}`);
    const all = choice === 'all' || (choice === 'one-click' && link.from === 'all');
    if (choice === 'subscribe') await resubscribe(ledger, link);
    else await unsubscribe(ledger, { ...link, emailType: all ? null : link.emailType });
    const now = await readUnsubscribed(ledger, link);
    send(res, 200, now ? unsubscribePage(link, now) : invalidLinkPage());
  };

  return Router().get(`${UNSUBSCRIBE_PATH}:link`, show).post(`${UNSUBSCRIBE_PATH}:link`, change);
}

const CHOICES = ['type', 'all', 'subscribe'] as const;
type Choice = (typeof CHOICES)[number] | 'one-click';

/** Throws AppError BAD_REQUEST, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE. */
async function readChoice(req: Request): Promise<Choice> {
  const { values } = await readFields(req, MAX_BODY_BYTES);
  if (values['List-Unsubscribe'] === 'One-Click') return 'one-click';
  const choice = CHOICES.find((known) => known === values['choice']);
  if (choice) return choice;
  throw new AppError('BAD_REQUEST', 'The body is not List-Unsubscribe=One-Click.');
}

async function consume(limiter: RateLimiterMemory, key: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    throw new AppError('RATE_LIMITED', 'Too many changes within a minute.', {
      details: { retryAfterSeconds: Math.max(1, Math.ceil(error.msBeforeNext / 1000)) },
    });
  }
}

function send(res: Response, status: number, page: Html): void {
  res.setHeader('content-security-policy', POLICY);
  res.setHeader('cache-control', 'no-store');
  // Search engines may find links that were shared.
  res.setHeader('x-robots-tag', 'noindex');
  res.status(status).type('html').send(page.markup);
}
