import { OFTEN_BUSY } from '../carrier/smtpServer.js';

/** What a shop sends with. `fallback`: SMTP by a server that is often busy, then SendGrid. */
export const SHOP_CARRIERS = ['sendgrid', 'smtp', 'resend', 'fallback'] as const;
export type ShopCarrier = (typeof SHOP_CARRIERS)[number];

export const SET_TRANSPORT =
  'mutation ($input: email_transportInput!) { Utility { set_email_transport(input: $input) { transports { kind } } } }';

/** The input of `set_email_transport`. */
export function accountOf(
  carrier: Exclude<ShopCarrier, 'sendgrid'>,
  shop: { readonly number: number; readonly apiKey: string; readonly smtpPort: number },
): object {
  const smtp = (login: string) => ({
    kind: 'smtp',
    host: '127.0.0.1',
    port: shop.smtpPort,
    security: 'none',
    username: `${login}${shop.number}`,
    password: shop.apiKey,
  });
  switch (carrier) {
    case 'smtp':
      return smtp('shop-');
    case 'resend':
      return { kind: 'resend', apikey: shop.apiKey };
    case 'fallback':
      return { transports: [smtp(OFTEN_BUSY), { kind: 'sendgrid' }] };
  }
}
