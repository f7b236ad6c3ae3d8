/** A 20-item order confirmation, the same page in the two languages. */

export const JINJA2 = `<html>
<body>
<h1>Thank you, {{ order.customer.first_name }} {{ order.customer.last_name }}!</h1>
<p>Your order {{ order.number }} of {{ order.date }} is {{ order.status|upper }}.</p>
<table>
{% for item in order.items_list %}
  <tr class="{% if loop.first %}first{% elif loop.last %}last{% else %}row{% endif %}">
    <td>{{ loop.index }}</td>
    <td>{{ item.sku }}</td>
    <td>{{ item.name }}</td>
    <td>{{ item.qty }}</td>
    <td>{{ item.price }} {{ order.currency }}</td>
    <td>{% if item.qty > 1 %}{{ item.qty * item.price }}{% else %}{{ item.price }}{% endif %}</td>
    <td>{% if item.note %}<em>{{ item.note }}</em>{% endif %}</td>
  </tr>
{% endfor %}
</table>
<p>{{ order.items_list|length }} items, total {{ order.total }} {{ order.currency }}</p>
<p>Ship to {{ order.shipping.street }}, {{ order.shipping.zip }} {{ order.shipping.city }}</p>
<p>Questions? Write to {{ shop.email|lower }} and name order {{ order.number }}.</p>
</body>
</html>
`;

export const LIQUID = JINJA2.replaceAll('loop.', 'forloop.')
  .replaceAll('elif', 'elsif')
  .replaceAll('|upper', '|upcase')
  .replaceAll('|lower', '|downcase')
  .replaceAll('|length', '|size')
  .replace('{{ item.qty * item.price }}', '{{ item.qty | times: item.price }}');

export const CONTEXT = {
  shop: { email: 'Help@Shop.Example' },
  order: {
    number: 'A-10042',
    date: '2026-03-09',
    status: 'paid',
    currency: 'EUR',
    total: 1234.5,
    customer: { first_name: 'Ada', last_name: "O'Lovelace" },
    shipping: { street: '1 Rue & Co', zip: '75001', city: 'Paris' },
    items_list: Array.from({ length: 20 }, (_, i) => ({
      sku: `SKU-${i}`,
      name: i % 3 === 0 ? `Pen <blue> no. ${i}` : `Notebook no. ${i}`,
      qty: (i % 4) + 1,
      price: 2.25 + i,
      note: i % 5 === 0 ? 'gift wrapped' : null,
    })),
  },
};
