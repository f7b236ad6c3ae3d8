import type { Activity } from '../../db/ledger/deliveryFigures.js';
import { toActivity } from './overviewView.js';
import type { Visit } from './pageHandlers.js';

const DAYS = 30;

const activityQuery = (field: 'email_types' | 'rules'): string => `query ($name: String!) {
  Utility { statistics(days: ${DAYS}) { ${field}(names: [$name]) { name deliveries newest statuses { status deliveries } days } } }
}`;

/** What was sent of an email type, or by a rule. @returns undefined if there was nothing */
export async function activityOf(
  query: Visit['query'],
  field: 'email_types' | 'rules',
  name: string,
): Promise<object | undefined> {
  const { Utility } = await query<{
    Utility: { readonly statistics: Readonly<Record<string, readonly Activity[]>> };
  }>(activityQuery(field), { name });
  const [activity] = Utility.statistics[field] ?? [];
  return activity && { ...toActivity(activity), period: DAYS };
}
