import { followEmail, type Arrival } from './arrival.js';
import {
  deleteCustomer,
  nextOrderNumber,
  placeOrder,
  shipOrder,
  uploadInvoice,
  welcomeLeaver,
} from './changes.js';
import { createNarrator, type Narrator } from './narrator.js';
import { LEAVER } from './shop.js';
import { setUp, type DemoTenant, type RunningService } from './setUp.js';

export type { RunningService } from './setUp.js';

/** Where to narrate to, and whether it supports colors. */
export interface Stage {
  write(text: string): void;
  readonly colors: boolean;
}

interface DemoOptions {
  /** How long to wait for each email. */
  readonly emailDeadlineMs?: number;
  /** False if the service stops right after the story, so that there is nothing to look at. */
  readonly staysUp?: boolean;
}

/**
 * Demonstrates the whole service on a shop: sets it up through the public API, changes rows, and waits for each email. A
 * second run reuses what the first one created, and places a new order.
 * @returns the email types whose emails did not arrive; empty if all did
 */
export async function runDemo(
  service: RunningService,
  stage: Stage,
  { emailDeadlineMs = 30_000, staysUp = true }: DemoOptions = {},
): Promise<readonly string[]> {
  const narrator = createNarrator((text) => stage.write(text), stage.colors);
  narrator.chapter('A shop on Rowpost, set up through the public API');
  const tenant = await setUp(service, narrator);
  const missing = await playChanges(tenant, narrator, emailDeadlineMs);
  narrator.chapter(
    missing.length === 0 ? 'All four emails have arrived' : `${missing.length} of four emails are missing`,
  );
  if (staysUp) pointAround(service.baseUrl, tenant, narrator);
  else narrator.done('to look around, run the demo without --once; it keeps its data');
  return missing;
}

async function playChanges(
  { root }: DemoTenant,
  narrator: Narrator,
  emailDeadlineMs: number,
): Promise<readonly string[]> {
  const orderNumber = await nextOrderNumber(root);
  const leaver = await welcomeLeaver(root);
  const scenes = [
    {
      title: `Order ${orderNumber} with three items, in one request to /query`,
      emailType: 'order_confirmation',
      change: () => placeOrder(root, orderNumber, narrator),
    },
    {
      title: `Order ${orderNumber} is shipped`,
      emailType: 'order_shipped',
      change: () => shipOrder(root, orderNumber, narrator),
    },
    {
      title: `The invoice of order ${orderNumber} is uploaded`,
      emailType: 'invoice',
      change: () => uploadInvoice(root, orderNumber, narrator),
    },
    {
      title: `${LEAVER.name} leaves the shop, and is deleted`,
      emailType: 'farewell',
      change: () => deleteCustomer(root, leaver, narrator),
    },
  ];
  const missing: string[] = [];
  for (const { title, emailType, change } of scenes) {
    narrator.chapter(title);
    const arrival = await followEmail(root, emailType, emailDeadlineMs, change);
    tell(arrival, emailType, narrator);
    if (arrival.kind === 'missing') missing.push(emailType);
  }
  return missing;
}

function tell(arrival: Arrival, emailType: string, narrator: Narrator): void {
  if (arrival.kind === 'sent') narrator.email(arrival.subject, arrival.recipients, arrival.afterMs);
  else narrator.trouble(`the email “${emailType}” has not arrived: ${arrival.reason}`);
}

function pointAround(baseUrl: string, tenant: DemoTenant, narrator: Narrator): void {
  narrator.pointer('The emails, as recipients see them:', `${baseUrl}/mailbox`);
  narrator.pointer(
    'What was sent and why, in the console; sign in with:',
    `${baseUrl}/console\ntenant ${tenant.tenantid}, login ${tenant.login}, password ${tenant.password}`,
  );
  narrator.pointer(
    'The shop in GraphQL, and its emails and rules at /roles_pbac, with the same sign-in:',
    `${baseUrl}/query`,
  );
  narrator.pointer(
    'Or from a terminal, with a token for one day:',
    `TOKEN=${tenant.root.token}\ncurl ${baseUrl}/query -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d '{"query": "{ orders { order_number status customers { name } } }"}'`,
  );
}
