import { RECORD_TOO_LARGE } from '../db/outbox/recordSize.js';
import { composeEmail } from '../email/composeEmail.js';
import { unsubscribeUrl } from '../email/unsubscribeLink.js';
import { variantNames } from '../email/variantNames.js';
import { traced } from '../foundation/observability/tracing/tracing.js';
import type { AttemptedDelivery } from './attemptReport.js';
import type { DeliverDeps } from './deliverDeps.js';
import { removeSuppressed, type PreparedEmail } from './removeSuppressed.js';

/** The delivery's email, to those who may get it. A large record is in memory only meanwhile. */
export function prepareEmail(deps: DeliverDeps, delivery: AttemptedDelivery): Promise<PreparedEmail> {
  const { tenantid, recordBytes } = delivery;
  if (recordBytes === 0) return composeAllowed(deps, delivery);
  const work = async (): Promise<PreparedEmail> => {
    const record = (await deps.ledger.loadRecord(delivery)) ?? { eventid: null };
    return composeAllowed(deps, { ...delivery, ...record });
  };
  return deps.records.run(tenantid, work, recordBytes);
}

async function composeAllowed(deps: DeliverDeps, delivery: AttemptedDelivery): Promise<PreparedEmail> {
  const composed = await traced(delivery.span, 'compose', {}, (span) => compose(deps, { ...delivery, span }));
  if (composed.kind !== 'email') return composed;
  const { intended } = composed;
  return { intended, ...(await removeSuppressed(deps.ledger, delivery, composed.email)) };
}

async function compose(deps: DeliverDeps, delivery: AttemptedDelivery): Promise<PreparedEmail> {
  if (delivery.eventid === null) {
    return { kind: 'skipped', code: 'EVENT_EXPIRED', message: 'the change is older than what is kept' };
  }
  if (delivery.isTooLarge) return { kind: 'failed', code: 'EVENT_TOO_LARGE', message: RECORD_TOO_LARGE };
  const { queryRoleid } = delivery;
  if (queryRoleid === null) return { kind: 'skipped', code: 'RULE_DELETED', message: 'the rule is gone' };
  const type = delivery.typeVersion === null ? undefined : await deps.ledger.loadType(delivery);
  if (!type) return { kind: 'skipped', code: 'EMAIL_TYPE_DELETED', message: 'the email type is gone' };
  const { tenantid, emailType } = delivery;
  const event = { eventid: delivery.eventid, time: delivery.createtime };
  const from = type.unsubscribe === 'all' ? 'all' : 'type';
  const composed = await composeEmail(deps, { event, ...delivery, queryRoleid }, type, {
    unsubscribeUrl: (address) => unsubscribeUrl(deps, { tenantid, address, emailType, from }),
    variant: (locale) => deps.ledger.loadVariant(tenantid, variantNames(emailType, locale)),
  });
  if (composed.kind === 'email') return composed;
  const { kind, failure, intended } = composed;
  return { kind, ...failure, intended };
}
