import type { Account } from '../../src/email/carriers/account.js';
import type { Carrier, CarrierDefinition, CarrierOptions } from '../../src/email/carriers/carrier.js';
import { CARRIERS } from '../../src/email/carriers/allCarriers.js';

/** Options of carriers whose APIs are all at one URL. */
export const carrierOptions = (url: string): CarrierOptions => ({
  carrierUrls: Object.fromEntries(CARRIERS.flatMap(({ baseUrls }) => baseUrls).map(({ env }) => [env, url])),
  smtpAllowPrivateNetwork: true,
  hostname: 'rowpost.example',
  reserveCall: () => Promise.resolve(0),
});

/** @param url of its API */
export const openCarrier = <A extends Account>(
  definition: CarrierDefinition<A>,
  url = 'http://127.0.0.1:1/',
): Carrier<A> => definition.open(carrierOptions(url));

/** An account at each carrier with an API. */
export const ACCOUNTS: Readonly<Record<string, Account>> = {
  sendgrid: { kind: 'sendgrid', apikey: 'key' },
  ses: { kind: 'ses', accessKeyId: 'id', secretAccessKey: 'key', region: 'eu-central-1' },
  resend: { kind: 'resend', apikey: 'key' },
  postmark: { kind: 'postmark', apikey: 'key' },
  brevo: { kind: 'brevo', apikey: 'key' },
  mailgun: { kind: 'mailgun', apikey: 'key', domain: 'mg.example.com', region: 'us' },
};
