import { RECORD_TOO_LARGE } from '../db/outbox/recordSize.js';
import { composeEmail, type ComposeDeps } from '../email/composeEmail.js';
import { unsubscribeUrl } from '../email/unsubscribeLink.js';
import { variantNames } from '../email/variantNames.js';
import type { Logger } from '../foundation/observability/log.js';
import type { KeyRing } from '../config/secrets.js';
import { traced } from '../foundation/observability/tracing/tracing.js';
import type { AttemptedDelivery } from './attemptReport.js';
import type { DeliveryLedger } from './deliveryLedger.js';
import { removeSuppressed, type PreparedEmail } from './removeSuppressed.js';

export interface PrepareDeps extends ComposeDeps {
  readonly ledger: DeliveryLedger;
  /** Decrypts accounts, seals unsubscribe links, and encrypts kept mails. */
  readonly keyRing: KeyRing;
  /** Whether this is one of several cells: links then tell the proxy in front their tenant. */
  readonly isCell?: boolean;
  readonly log: Logger;
}

/** The delivery's mail, to those who may get it. */
export async function prepareEmail(deps: PrepareDeps, delivery: AttemptedDelivery): Promise<PreparedEmail> {
  const composed = await traced(delivery.span, 'compose', {}, (span) => compose(deps, { ...delivery, span }));
  return composed.kind === 'email' ? removeSuppressed(deps.ledger, delivery, composed.email) : composed;
}

async function compose(deps: PrepareDeps, delivery: AttemptedDelivery): Promise<PreparedEmail> {
  if (delivery.eventid === null) {
    return { kind: 'skipped', code: 'EVENT_EXPIRED', message: 'the change is older than what is kept' };
  }
  if (delivery.isTooLarge) return { kind: 'failed', code: 'EVENT_TOO_LARGE', message: RECORD_TOO_LARGE };
  const { queryRoleid } = delivery;
  if (queryRoleid === null) return { kind: 'skipped', code: 'RULE_DELETED', message: 'the rule is gone' };
  const type = delivery.typeVersion === null ? undefined : await deps.ledger.loadType(delivery);
  if (!type) return { kind: 'skipped', code: 'EMAIL_TYPE_DELETED', message: 'the email type is gone' };
  try {
    const { tenantid, emailType } = delivery;
    const event = { eventid: delivery.eventid, time: delivery.createtime };
    const from = type.unsubscribe === 'all' ? 'all' : 'type';
    const composed = await composeEmail(deps, { ...delivery, queryRoleid, event }, type, {
      unsubscribeUrl: (address) => unsubscribeUrl(deps, { tenantid, address, emailType, from }),
      variant: (locale) => deps.ledger.loadVariant(tenantid, variantNames(emailType, locale)),
    });
    return composed.kind === 'email' ? composed : { kind: composed.kind, ...composed.failure };
  } catch (error) {
    // The database failed, or it is a bug. Counted as an attempt, so that retries end either way.
    deps.log.error({ err: error, deliveryid: delivery.deliveryid }, 'a mail could not be composed');
    return { kind: 'retry', code: 'INTERNAL_ERROR', message: 'the mail could not be composed' };
  }
}
