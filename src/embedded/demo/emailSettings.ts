import { CONFIRMATION, FAREWELL, INVOICE, SHIPPED } from './emailTemplates.js';

/** As in the API: `email_typesInput`, and `email_ruleInput` without `query_roleid`. */
export interface EmailSetting {
  readonly type: Readonly<Record<string, unknown>> & { readonly email_type: string };
  readonly rule: Readonly<Record<string, unknown>> & { readonly name: string };
}

const SENDER = 'Paper & Ink <shop@example.com>';

/** Reads the changed order with its customer and its items, which the changed row itself does not contain. */
const ORDER_QUERY = {
  query: `query ($filter: String, $ordering: [String], $limit: Int, $offset: Int) {
  orders(filter: $filter, ordering: $ordering, limit: $limit, offset: $offset) {
    order_number
    customers { name email city }
    order_items_collection(ordering: ["item_id"]) { product quantity price amount }
  }
}`,
  filter: `order_number = "{{ records['new']['order_number'] }}"`,
  limit: 1,
  outvar: 'orders',
};

const ORDER_RECIPIENTS = ['{{ orders[0].customers.name }} <{{ orders[0].customers.email }}>'];

export const EMAIL_SETTINGS: readonly EmailSetting[] = [
  {
    type: {
      email_type: 'order_confirmation',
      sender: SENDER,
      recipients: ORDER_RECIPIENTS,
      subject: "Your order {{ records['new']['order_number'] }} is confirmed",
      template: CONFIRMATION,
      queries: [ORDER_QUERY],
    },
    rule: {
      name: 'confirm a new order',
      operations: ['insert'],
      targets: ['orders'],
      email_type: 'order_confirmation',
    },
  },
  {
    type: {
      email_type: 'order_shipped',
      sender: SENDER,
      recipients: ORDER_RECIPIENTS,
      subject: "Your order {{ records['new']['order_number'] }} is on its way",
      template: SHIPPED,
      queries: [ORDER_QUERY],
    },
    rule: {
      name: 'tell when an order is shipped',
      operations: ['update'],
      targets: ['orders'],
      condition: "new.status = 'shipped' and old.status != 'shipped'",
      email_type: 'order_shipped',
    },
  },
  {
    type: {
      email_type: 'invoice',
      sender: SENDER,
      recipients: ORDER_RECIPIENTS,
      subject: 'Your invoice {{ file.filename }}, {{ file.size }} bytes',
      template: INVOICE,
      queries: [ORDER_QUERY],
      attachments: ['invoice'],
    },
    rule: {
      name: 'send an invoice when it is uploaded',
      operations: ['upload'],
      targets: ['orders'],
      email_type: 'invoice',
    },
  },
  {
    type: {
      email_type: 'farewell',
      sender: SENDER,
      recipients: ["{{ records['old']['name'] }} <{{ records['old']['email'] }}>"],
      subject: "Farewell, {{ records['old']['name'] }}",
      template: FAREWELL,
    },
    rule: {
      name: 'say farewell to a customer',
      operations: ['delete'],
      targets: ['customers'],
      email_type: 'farewell',
    },
  },
];
