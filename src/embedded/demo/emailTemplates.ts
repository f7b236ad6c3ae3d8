/** Jinja2 templates of the demo's emails. Styles are inline and the layout is a table, because email clients require both. */

const FONT = "font-family:Georgia,'Times New Roman',serif";

/** The common layout. `heading` and `content` are Jinja2 too. */
function layout(heading: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<body style="margin:0;padding:0;background:#f4f1ea">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f4f1ea;padding:32px 12px">
<tr><td align="center">
  <table role="presentation" width="560" cellpadding="0" cellspacing="0" style="max-width:560px;width:100%;background:#fffdf8;border:1px solid #e2dccd;border-radius:6px">
    <tr><td style="padding:28px 36px 0;${FONT};font-size:13px;letter-spacing:3px;text-transform:uppercase;color:#9a8f78">Paper &amp; Ink</td></tr>
    <tr><td style="padding:10px 36px 0;${FONT};font-size:26px;line-height:34px;color:#2b2a27">${heading}</td></tr>
    <tr><td style="padding:14px 36px 32px;${FONT};font-size:16px;line-height:25px;color:#45423b">
${content}
    </td></tr>
  </table>
  <p style="${FONT};font-size:12px;line-height:18px;color:#9a8f78;margin:18px 0 0">Paper &amp; Ink, a shop that exists in a demo only.</p>
</td></tr>
</table>
</body>
</html>`;
}

const CELL = 'padding:9px 0;border-bottom:1px solid #ece6d8';

export const CONFIRMATION = layout(
  'Thank you, {{ orders[0].customers.name }}.',
  `{%- set order = orders[0] %}
      <p style="margin:0 0 18px">We have your order <b>{{ order.order_number }}</b> and are packing it already.</p>
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="${FONT};font-size:15px;line-height:21px;color:#45423b">
        <tr style="color:#9a8f78">
          <td style="${CELL}">Item</td><td align="right" style="${CELL}">Quantity</td><td align="right" style="${CELL}">Price</td><td align="right" style="${CELL}">Amount</td>
        </tr>
        {%- for item in order.order_items_collection %}
        <tr>
          <td style="${CELL}">{{ item.product }}</td>
          <td align="right" style="${CELL}">{{ item.quantity }}</td>
          <td align="right" style="${CELL}">{{ '%.2f'|format(item.price) }} €</td>
          <td align="right" style="${CELL}">{{ '%.2f'|format(item.amount) }} €</td>
        </tr>
        {%- endfor %}
        <tr>
          <td colspan="3" style="padding:14px 0 0"><b>Total</b></td>
          <td align="right" style="padding:14px 0 0"><b>{{ '%.2f'|format(order.order_items_collection|sum(attribute='amount')) }} €</b></td>
        </tr>
      </table>`,
);

export const SHIPPED = layout(
  'On its way to {{ orders[0].customers.city }}.',
  `      <p style="margin:0 0 14px">Dear {{ orders[0].customers.name }},</p>
      <p style="margin:0 0 18px">your order <b>{{ records['new']['order_number'] }}</b> with {{ orders[0].order_items_collection|length }} items has left our shop.</p>
      {%- if records['new']['tracking'] %}
      <p style="margin:0;padding:12px 16px;background:#f4f1ea;border-radius:4px">Tracking number <b>{{ records['new']['tracking'] }}</b></p>
      {%- endif %}`,
);

export const INVOICE = layout(
  'Your invoice, {{ orders[0].customers.name }}.',
  `      <p style="margin:0 0 18px">It is attached, and here for a week: <a href="{{ file.url }}" style="color:#7a5c2e">{{ file.filename }}</a> ({{ file.size }} bytes).</p>`,
);

export const FAREWELL = layout(
  'Farewell, {{ records["old"]["name"] }}.',
  `      <p style="margin:0 0 14px">We have deleted your account and everything that we knew about you.</p>
      <p style="margin:0">Should you run out of ink one day, {{ records['old']['city'] }} is not far. It was a pleasure to write to you.</p>`,
);
