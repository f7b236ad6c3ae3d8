import { expect } from 'chai';
import { checkEvents } from '../../../src/email/carriers/reports/events.js';
import { CARRIERS, findCarrier } from '../../../src/email/carriers/allCarriers.js';
import type { EventWebhook } from '../../../src/email/carriers/reports/webhook.js';
import type { EmailEvent } from '../../../src/db/email/emailEvents.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const TIME = '2026-03-01T11:59:00.000Z';
const IDS = { deliveryid: '42', tenantid: '7' };
const ADA = 'ada@example.com';

const postmark = (RecordType: string, rest: object = {}): object => ({
  RecordType,
  MessageID: '883953f4',
  Metadata: IDS,
  ReceivedAt: TIME,
  ...rest,
});
const resend = (type: string, rest: object = {}): object => ({
  type,
  created_at: TIME,
  data: { email_id: '5676', to: [ADA], tags: IDS, ...rest },
});
const mailgun = (event: string, rest: object = {}): object => ({
  'event-data': {
    event,
    id: 'CPgfbmQMTCKtHW6uIWtuVe',
    timestamp: Date.parse(TIME) / 1000,
    recipient: ADA,
    'user-variables': IDS,
    ...rest,
  },
});
const ses = (eventType: string, part: string, rest: object = {}): object => ({
  eventType,
  [part]: { timestamp: TIME, ...rest },
  mail: { timestamp: TIME, destination: [ADA], tags: { deliveryid: ['42'], tenantid: ['7'] } },
});

const brevo = (event: string, rest: object = {}): object => ({
  event,
  email: ADA,
  id: 26224,
  'message-id': '<2026@smtp-relay.mailin.fr>',
  ts_epoch: Date.parse(TIME),
  'X-Mailin-custom': JSON.stringify(IDS),
  ...rest,
});

/** Reports as the carriers document them, and what is recorded; null for what is ignored. */
const REPORTS: readonly (readonly [string, object, Partial<EmailEvent> | null])[] = [
  [
    'postmark',
    postmark('Delivery', { Recipient: ADA, DeliveredAt: TIME, Details: '250 ok' }),
    { event: 'delivered', reason: '250 ok' },
  ],
  [
    'postmark',
    postmark('Bounce', { Email: ADA, Type: 'HardBounce', ID: 1 }),
    { event: 'bounce', type: 'bounce', suppress: { address: ADA, source: 'bounce' } },
  ],
  [
    'postmark',
    postmark('Bounce', { Email: ADA, Type: 'SoftBounce', ID: 1 }),
    { event: 'bounce', type: 'blocked', suppress: null },
  ],
  [
    'postmark',
    postmark('Bounce', { Email: ADA, Type: 'Transient', ID: 1 }),
    { event: 'deferred', type: null, suppress: null },
  ],
  [
    'postmark',
    postmark('SpamComplaint', { Email: ADA, Type: 'SpamComplaint', ID: 1 }),
    { event: 'spamreport', suppress: { address: ADA, source: 'spamreport' } },
  ],
  [
    'postmark',
    postmark('Bounce', { Email: ADA, Type: 'DnsError', ID: 1 }),
    { event: 'deferred', type: null, suppress: null },
  ],
  [
    'postmark',
    postmark('Bounce', { Email: ADA, Type: 'Unsubscribe', ID: 1 }),
    { event: 'unsubscribe', type: null, suppress: { address: ADA, source: 'unsubscribe' } },
  ],
  ...['AutoResponder', 'AddressChange', 'Subscribe', 'OpenRelayTest', 'InboundError'].map(
    (Type) => ['postmark', postmark('Bounce', { Email: ADA, Type, ID: 1 }), null] as const,
  ),
  ['postmark', postmark('Open', { Recipient: ADA }), { event: 'open', suppress: null }],
  [
    'postmark',
    postmark('Click', { Recipient: ADA, OriginalLink: 'https://example.com/' }),
    { event: 'click', url: 'https://example.com/' },
  ],
  ['postmark', postmark('SubscriptionChange', { Recipient: ADA }), null],
  ['postmark', postmark('constructor', { Recipient: ADA }), null],
  ['resend', resend('email.delivered'), { event: 'delivered', providerEventId: 'resend:r1:0' }],
  [
    'resend',
    resend('email.delivered', {
      tags: [
        { name: 'deliveryid', value: '42' },
        { name: 'tenantid', value: '7' },
      ],
    }),
    { event: 'delivered' },
  ],
  [
    'resend',
    resend('email.bounced', { bounce: { type: 'Permanent', message: 'gone' } }),
    { event: 'bounce', type: 'bounce', reason: 'gone', suppress: { address: ADA, source: 'bounce' } },
  ],
  [
    'resend',
    resend('email.bounced', { bounce: { type: 'Transient', message: 'full' } }),
    { event: 'bounce', type: 'blocked', suppress: null },
  ],
  [
    'resend',
    resend('email.complained', { to: [`Ada <${ADA}>`] }),
    { event: 'spamreport', recipient: ADA, suppress: { address: ADA, source: 'spamreport' } },
  ],
  ['resend', resend('email.delivery_delayed'), { event: 'deferred' }],
  [
    'resend',
    resend('email.clicked', { click: { link: 'https://example.com/' } }),
    { event: 'click', url: 'https://example.com/' },
  ],
  [
    'resend',
    resend('email.failed', { failed: { reason: 'reached_daily_quota' } }),
    { event: 'dropped', reason: 'reached_daily_quota' },
  ],
  [
    'resend',
    resend('email.suppressed', {
      suppressed: { message: 'on the suppression list', type: 'OnAccountSuppressionList' },
    }),
    { event: 'dropped', reason: 'on the suppression list', suppress: null },
  ],
  ['resend', resend('domain.created'), null],
  ['mailgun', mailgun('delivered'), { event: 'delivered', time: TIME }],
  [
    'mailgun',
    mailgun('failed', {
      severity: 'permanent',
      reason: 'bounce',
      'delivery-status': { code: 550, message: 'gone', 'enhanced-code': '5.1.1' },
    }),
    {
      event: 'bounce',
      type: 'bounce',
      status: '5.1.1',
      reason: 'gone',
      suppress: { address: ADA, source: 'bounce' },
    },
  ],
  [
    'mailgun',
    mailgun('failed', { severity: 'permanent', reason: 'generic' }),
    { event: 'bounce', type: 'blocked', suppress: null },
  ],
  [
    'mailgun',
    mailgun('failed', { severity: 'temporary', reason: 'bounce' }),
    { event: 'deferred', suppress: null },
  ],
  [
    'mailgun',
    mailgun('failed', { severity: 'permanent', reason: 'suppress-bounce' }),
    { event: 'dropped', suppress: { address: ADA, source: 'bounce' } },
  ],
  [
    'mailgun',
    mailgun('failed', { severity: 'permanent', reason: 'suppress-unsubscribe' }),
    { event: 'dropped', suppress: null },
  ],
  [
    'mailgun',
    mailgun('complained'),
    { event: 'spamreport', suppress: { address: ADA, source: 'spamreport' } },
  ],
  [
    'mailgun',
    mailgun('clicked', { url: 'https://example.com/' }),
    { event: 'click', url: 'https://example.com/' },
  ],
  ['mailgun', mailgun('accepted'), null],
  ['brevo', brevo('delivered'), { event: 'delivered' }],
  // In its documentation's example, the time is in seconds.
  ['brevo', brevo('delivered', { ts_epoch: Date.parse(TIME) / 1000 }), { event: 'delivered' }],
  [
    'brevo',
    brevo('hard_bounce', { reason: 'gone' }),
    { event: 'bounce', type: 'bounce', reason: 'gone', suppress: { address: ADA, source: 'bounce' } },
  ],
  ['brevo', brevo('invalid_email'), { event: 'bounce', suppress: { address: ADA, source: 'bounce' } }],
  ['brevo', brevo('soft_bounce'), { event: 'bounce', type: 'blocked', suppress: null }],
  ['brevo', brevo('deferred', { reason: 'greylisted' }), { event: 'deferred', reason: 'greylisted' }],
  ['brevo', brevo('blocked'), { event: 'dropped', type: null, suppress: null }],
  ['brevo', brevo('error', { reason: 'x' }), { event: 'dropped', reason: 'x', suppress: null }],
  ...['spam', 'complaint'].map(
    (event) =>
      [
        'brevo',
        brevo(event),
        { event: 'spamreport', suppress: { address: ADA, source: 'spamreport' } },
      ] as const,
  ),
  [
    'brevo',
    brevo('unsubscribed'),
    { event: 'unsubscribe', suppress: { address: ADA, source: 'unsubscribe' } },
  ],
  ['brevo', brevo('opened'), { event: 'open', suppress: null }],
  [
    'brevo',
    brevo('click', { link: 'https://example.com/' }),
    { event: 'click', url: 'https://example.com/' },
  ],
  ['brevo', brevo('request'), null],
  ['brevo', brevo('constructor'), null],
  [
    'ses',
    ses('Delivery', 'delivery', { recipients: [ADA], smtpResponse: '250 ok' }),
    { event: 'delivered', reason: '250 ok' },
  ],
  [
    'ses',
    ses('Bounce', 'bounce', {
      bounceType: 'Permanent',
      bounceSubType: 'General',
      bouncedRecipients: [{ emailAddress: ADA, status: '5.1.1', diagnosticCode: 'gone' }],
    }),
    {
      event: 'bounce',
      type: 'bounce',
      status: '5.1.1',
      reason: 'gone',
      suppress: { address: ADA, source: 'bounce' },
    },
  ],
  [
    'ses',
    ses('Bounce', 'bounce', {
      bounceType: 'Transient',
      bounceSubType: 'MailboxFull',
      bouncedRecipients: [{ emailAddress: ADA }],
    }),
    { event: 'bounce', type: 'blocked', suppress: null },
  ],
  [
    'ses',
    ses('Bounce', 'bounce', {
      bounceType: 'Permanent',
      bounceSubType: 'OnAccountSuppressionList',
      bouncedRecipients: [{ emailAddress: ADA }],
    }),
    { event: 'dropped', type: null, suppress: { address: ADA, source: 'bounce' } },
  ],
  [
    'ses',
    ses('Complaint', 'complaint', { complainedRecipients: [{ emailAddress: ADA }] }),
    { event: 'spamreport', suppress: { address: ADA, source: 'spamreport' } },
  ],
  ...['abuse', 'fraud', 'virus', 'other', 'of a later version'].map(
    (complaintFeedbackType) =>
      [
        'ses',
        ses('Complaint', 'complaint', {
          complaintFeedbackType,
          complainedRecipients: [{ emailAddress: ADA }],
        }),
        { event: 'spamreport', suppress: { address: ADA, source: 'spamreport' } },
      ] as const,
  ),
  // The recipient moved it out of the spam folder, or the receiving server checked who sent it.
  ...['not-spam', 'Not-Spam', 'auth-failure'].map(
    (complaintFeedbackType) =>
      [
        'ses',
        ses('Complaint', 'complaint', {
          complaintFeedbackType,
          complainedRecipients: [{ emailAddress: ADA }],
        }),
        null,
      ] as const,
  ),
  [
    'ses',
    ses('Complaint', 'complaint', {
      complaintSubType: 'OnAccountSuppressionList',
      complainedRecipients: [{ emailAddress: ADA }],
    }),
    { event: 'dropped', suppress: { address: ADA, source: 'spamreport' } },
  ],
  [
    'ses',
    ses('DeliveryDelay', 'deliveryDelay', { delayedRecipients: [{ emailAddress: ADA, status: '4.4.1' }] }),
    { event: 'deferred', status: '4.4.1' },
  ],
  [
    'ses',
    ses('Click', 'click', { link: 'https://example.com/' }),
    { event: 'click', url: 'https://example.com/' },
  ],
  ['ses', ses('Reject', 'reject', { reason: 'Bad content' }), { event: 'dropped', reason: 'Bad content' }],
  ['ses', ses('Send', 'send'), null],
];

const webhookOf = (kind: string): EventWebhook => findCarrier(kind)!.reports!.open({});

describe('carrier webhooks', () => {
  const read = (kind: string, report: object) =>
    checkEvents(webhookOf(kind).read(report as never, { reportId: 'r1', tenantid: 7 }), 7, NOW_MS);

  it('are all covered here', () => {
    const kinds = CARRIERS.filter(({ reports }) => reports?.secret).map(({ kind }) => kind);
    expect([...new Set(REPORTS.map(([kind]) => kind))]).to.have.members(kinds);
  });

  for (const [kind, report, expected] of REPORTS) {
    const name = JSON.stringify(report).slice(0, 90);
    it(`${kind}: ${name} → ${expected ? JSON.stringify(expected) : 'ignored'}`, () => {
      const { events, ignored, foreign } = read(kind, report);
      expect([ignored, foreign]).to.deep.equal([expected ? 0 : 1, 0]);
      if (!expected) return;
      expect(events).to.have.length(1);
      expect(events[0]).to.deep.include({ deliveryid: '42', recipient: ADA, time: TIME, ...expected });
    });
  }

  it('without ids, of other tenants and of impossible times are not recorded', () => {
    expect(read('resend', resend('email.delivered', { tags: {} }))).to.deep.equal({
      events: [],
      ignored: 1,
      foreign: 0,
    });
    const other = resend('email.delivered', { tags: { ...IDS, tenantid: '8' } });
    expect(read('resend', other)).to.deep.equal({ events: [], ignored: 0, foreign: 1 });
    for (const timestamp of ['soon', -1, 9e15]) {
      expect(read('mailgun', mailgun('delivered', { timestamp })).ignored).to.equal(1);
    }
    for (const [kind, report] of [
      ['postmark', postmark('Delivery', { Metadata: null })],
      ['ses', { eventType: 'Delivery', email: 'x', delivery: 7 }],
      ['brevo', brevo('delivered', { 'X-Mailin-custom': '[' })],
      ['brevo', brevo('delivered', { ts_epoch: 'soon' })],
      ['mailgun', { 'event-data': [] }],
      ['resend', { type: 'email.bounced', data: null }],
    ] as const) {
      expect(read(kind, report).events, kind).to.deep.equal([]);
    }
  });

  it('of one opening under two names is one event', () => {
    const [first, second] = ['unique_opened', 'opened'].map((event) => read('brevo', brevo(event)).events[0]);
    expect(first).to.deep.equal(second);
    const later = read('brevo', brevo('opened', { ts_epoch: Date.parse(TIME) + 1 })).events[0];
    expect(later?.providerEventId).to.not.equal(first?.providerEventId);
  });

  it('about more recipients than an email has are cut off', () => {
    const many = Array.from({ length: 5_000 }, () => ADA);
    const recipients = many.map((emailAddress) => ({ emailAddress }));
    for (const [kind, report] of [
      ['resend', resend('email.delivered', { to: many })],
      ['ses', ses('Complaint', 'complaint', { complainedRecipients: recipients })],
    ] as const) {
      expect(read(kind, report).events, kind).to.have.length(1_000);
    }
  });
});
