/**
 * Emails to start from. They use the table names of the demo, and show the sample until a table is chosen. The layout is a
 * table of 600 px with inline styles, which works in both Outlook and Gmail, with dark mode where supported.
 */
export interface Starter {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** An `email_typesInput`. */
  readonly input: Readonly<Record<string, unknown>>;
  /** What templates see instead of a row and query results. */
  readonly sample: Readonly<Record<string, unknown>>;
}

const FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const CELL = 'padding:10px 0;border-bottom:1px solid #e3e6ec';

/** Heading and content are Jinja2. */
function frame(heading: string, content: string, why: string): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="supported-color-schemes" content="light dark">
  <style>
    @media (prefers-color-scheme: dark) {
      .paper { background: #12151d !important; }
      .sheet { background: #1d222e !important; border-color: #323a4b !important; }
      .ink { color: #e6e9f2 !important; }
      .quiet { color: #a3acc2 !important; }
      .rule { border-color: #323a4b !important; }
    }
    @media (max-width: 480px) {
      .sheet td.inner { padding-left: 20px !important; padding-right: 20px !important; }
    }
  </style>
</head>
<body class="paper" style="margin:0;padding:0;background:#f2f4f8">
<table role="presentation" class="paper" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f2f4f8">
<tr><td align="center" style="padding:32px 12px">
  <table role="presentation" class="sheet" width="600" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:600px;background:#ffffff;border:1px solid #e3e6ec;border-radius:8px">
    <tr><td class="inner quiet" style="padding:28px 40px 0;${FONT};font-size:14px;font-weight:600;color:#5b6478">Your company</td></tr>
    <tr><td class="inner ink" style="padding:12px 40px 0;${FONT};font-size:24px;line-height:32px;font-weight:600;color:#1c2333">${heading}</td></tr>
    <tr><td class="inner ink" style="padding:14px 40px 36px;${FONT};font-size:16px;line-height:25px;color:#343c4f">
${content}
    </td></tr>
  </table>
  <p class="quiet" style="${FONT};font-size:12px;line-height:18px;color:#5b6478;margin:20px 0 0">${why}<br>Your company, 1 Example Street, 12345 Example City</p>
</td></tr>
</table>
</body>
</html>`;
}

function button(url: string, label: string): string {
  return `      <table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:24px 0 0"><tr>
        <td style="border-radius:6px;background:#2f55d4"><a href="${url}" style="display:inline-block;padding:12px 24px;${FONT};font-size:16px;font-weight:600;color:#ffffff;text-decoration:none">${label}</a></td>
      </tr></table>`;
}

const ITEMS = `      <table role="presentation" class="ink" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:20px 0 0;${FONT};font-size:15px;line-height:22px;color:#343c4f">
        {%- for item in order.order_items_collection %}
        <tr>
          <td class="rule" style="${CELL}">{{ item.quantity }} × {{ item.product }}</td>
          <td class="rule" align="right" style="${CELL};white-space:nowrap">{{ item.amount|format_currency('EUR') }}</td>
        </tr>
        {%- endfor %}
        <tr>
          <td style="padding:12px 0 0"><b>Total</b></td>
          <td align="right" style="padding:12px 0 0;white-space:nowrap"><b>{{ order.order_items_collection|sum(attribute='amount')|format_currency('EUR') }}</b></td>
        </tr>
      </table>`;

const ORDER_QUERY = {
  query: `query ($filter: String) {
  orders(filter: $filter, limit: 1) {
    order_number
    createdate
    customers { name email city }
    order_items_collection(ordering: ["item_id"]) { product quantity amount }
  }
}`,
  filter: `order_number = "{{ records.new.order_number }}"`,
  outvar: 'orders',
};
const SENDER = 'Your company <hello@example.com>';
const TO_CUSTOMER = ['{{ orders[0].customers.name }} <{{ orders[0].customers.email }}>'];
const OF_ORDER = 'You get this email because you ordered from us.';

const SAMPLE_ORDER = {
  order_number: 'A-1042',
  createdate: '2026-11-23T10:30:00Z',
  customers: { name: 'Ada Lovelace', email: 'ada@example.com', city: 'London' },
  order_items_collection: [
    { product: 'Letter paper, 100 sheets', quantity: 2, amount: 29 },
    { product: 'Fountain pen “Meridian”', quantity: 1, amount: 89 },
  ],
};
const SAMPLE_RECORD = { order_number: 'A-1042', status: 'shipped', tracking: 'TR 123 456 789' };
const ORDER_SAMPLE = { records: { new: SAMPLE_RECORD, old: null }, orders: [SAMPLE_ORDER] };

export const STARTERS: readonly Starter[] = [
  {
    name: 'order',
    title: 'Order confirmation',
    about: 'What was ordered, item by item, with the total.',
    input: {
      email_type: 'order_confirmation',
      subject: 'Your order {{ records.new.order_number }}',
      preheader: 'We have it, and are packing it already.',
      sender: SENDER,
      recipients: TO_CUSTOMER,
      queries: [ORDER_QUERY],
      template: frame(
        'Thank you, {{ orders[0].customers.name }}.',
        `      {%- set order = orders[0] %}
      <p style="margin:0">We have your order <b>{{ order.order_number }}</b> and are packing it already. You get another email as soon as it leaves.</p>
${ITEMS}`,
        OF_ORDER,
      ),
    },
    sample: ORDER_SAMPLE,
  },
  {
    name: 'shipment',
    title: 'Shipment',
    about: 'It is on its way, and where to follow it.',
    input: {
      email_type: 'order_shipped',
      subject: 'Your order {{ records.new.order_number }} is on its way',
      preheader: 'Follow it to your door.',
      sender: SENDER,
      recipients: TO_CUSTOMER,
      queries: [ORDER_QUERY],
      template: frame(
        'Your order is on its way.',
        `      {%- set order = orders[0] %}
      <p style="margin:0">Hello {{ order.customers.name }}, your order <b>{{ order.order_number }}</b> has left for {{ order.customers.city }}.</p>
      {%- if records.new.tracking %}
      <p style="margin:16px 0 0">Its tracking number is <b>{{ records.new.tracking }}</b>.</p>
${button('https://example.com/track?number={{ records.new.tracking|urlencode }}', 'Follow the parcel')}
      {%- endif %}`,
        OF_ORDER,
      ),
    },
    sample: ORDER_SAMPLE,
  },
  {
    name: 'invitation',
    title: 'Invitation',
    about: 'Somebody invites somebody, with a button to accept.',
    input: {
      email_type: 'invitation',
      subject: '{{ records.new.invited_by }} invites you to {{ records.new.team }}',
      preheader: 'Accept it with one click.',
      sender: SENDER,
      recipients: ['{{ records.new.email }}'],
      template: frame(
        'You are invited to {{ records.new.team }}.',
        `      <p style="margin:0">Hello{% if records.new.name %} {{ records.new.name }}{% endif %}, {{ records.new.invited_by }} would like you to join <b>{{ records.new.team }}</b>.</p>
${button('https://example.com/invitations/{{ records.new.token|urlencode }}', 'Accept the invitation')}
      <p class="quiet" style="margin:24px 0 0;font-size:14px;line-height:21px;color:#5b6478">If you don't know {{ records.new.invited_by }}, ignore this email: nothing happens.</p>`,
        'You get this email because somebody gave us your address for an invitation.',
      ),
    },
    sample: {
      records: {
        new: {
          name: 'Ada',
          email: 'ada@example.com',
          invited_by: 'Charles Babbage',
          team: 'Analytical Engines',
          token: 'x7Kq',
        },
        old: null,
      },
    },
  },
  {
    name: 'receipt',
    title: 'Receipt',
    about: 'A payment, its amount, date and method.',
    input: {
      email_type: 'receipt',
      subject: 'Receipt for {{ records.new.amount|format_currency(records.new.currency) }}',
      sender: SENDER,
      recipients: ['{{ records.new.email }}'],
      template: frame(
        '{{ records.new.amount|format_currency(records.new.currency) }} received.',
        `      <p style="margin:0">Thank you. We have received your payment.</p>
      <table role="presentation" class="ink" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:20px 0 0;${FONT};font-size:15px;line-height:22px;color:#343c4f">
        <tr><td class="rule" style="${CELL}">Receipt</td><td class="rule" align="right" style="${CELL}">{{ records.new.payment_id }}</td></tr>
        <tr><td class="rule" style="${CELL}">Date</td><td class="rule" align="right" style="${CELL}">{{ records.new.paid_at|format_date('long') }}</td></tr>
        <tr><td class="rule" style="${CELL}">Paid by</td><td class="rule" align="right" style="${CELL}">{{ records.new.method }}</td></tr>
        <tr><td style="padding:12px 0 0"><b>Amount</b></td><td align="right" style="padding:12px 0 0"><b>{{ records.new.amount|format_currency(records.new.currency) }}</b></td></tr>
      </table>`,
        'You get this email because you paid us. Keep it for your records.',
      ),
    },
    sample: {
      records: {
        new: {
          payment_id: 'P-2026-118',
          email: 'ada@example.com',
          amount: 118,
          currency: 'EUR',
          method: 'Visa ending in 4242',
          paid_at: '2026-11-23T10:30:00Z',
        },
        old: null,
      },
    },
  },
  {
    name: 'digest',
    title: 'Digest',
    about: 'What is new since the last one, as a list, with a link to leave it.',
    input: {
      email_type: 'digest',
      subject:
        '{{ orders|length }} new {% if orders|length == 1 %}order{% else %}orders{% endif %} on {{ now|format_date }}',
      sender: SENDER,
      recipients: ['{{ records.new.email }}'],
      unsubscribe: 'type',
      queries: [
        {
          query: `query ($filter: String, $limit: Int) {
  orders(filter: $filter, ordering: ["createdate desc"], limit: $limit) {
    order_number
    createdate
    customers { name city }
  }
}`,
          filter: "createdate >= now() - interval('1 day')",
          limit: 20,
          outvar: 'orders',
        },
      ],
      template: frame(
        'New since yesterday',
        `      <p style="margin:0">Hello{% if records.new.name %} {{ records.new.name }}{% endif %}, {% if orders %}this is what came in:{% else %}nothing came in.{% endif %}</p>
      <table role="presentation" class="ink" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:20px 0 0;${FONT};font-size:15px;line-height:22px;color:#343c4f">
        {%- for order in orders %}
        <tr>
          <td class="rule" style="${CELL}"><b>{{ order.order_number }}</b><br>{{ order.customers.name }}, {{ order.customers.city }}</td>
          <td class="rule quiet" align="right" style="${CELL};color:#5b6478;white-space:nowrap">{{ order.createdate|format_date }}</td>
        </tr>
        {%- endfor %}
      </table>`,
        'You get this email every morning. <a href="{{ unsubscribe_url }}" class="quiet" style="color:#5b6478">Unsubscribe</a>',
      ),
    },
    sample: {
      records: { new: { name: 'Ada', email: 'ada@example.com' }, old: null },
      orders: [
        SAMPLE_ORDER,
        {
          order_number: 'A-1041',
          createdate: '2026-11-23T08:05:00Z',
          customers: { name: 'Johannes Kepler', city: 'Linz' },
        },
      ],
    },
  },
];

export function findStarter(name: unknown): Starter | undefined {
  return STARTERS.find((starter) => starter.name === name);
}
