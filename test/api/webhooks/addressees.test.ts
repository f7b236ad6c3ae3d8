import { expect } from 'chai';
import { checkEvents } from '../../../src/email/carriers/reports/events.js';
import { CARRIERS, findCarrier } from '../../../src/email/carriers/allCarriers.js';

/** An email, and what the carrier knows about one of its addresses. */
interface Reported {
  readonly to: readonly string[];
  readonly copies: readonly string[];
  readonly about: string;
  readonly event: 'bounce' | 'complaint';
}

const IDS = { deliveryid: '42', tenantid: '7' };
const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const TIME = '2026-03-01T11:59:00.000Z';
/** Whoever the email was forwarded to; or somebody of whom a hostile server says so. */
const FORWARDED = 'elsewhere@example.net';

/** How carriers report it: the whole of what each says about addresses. */
const REPORTS: Readonly<Record<string, (reported: Reported) => object>> = {
  sendgrid: ({ about, event }) => ({
    event: event === 'bounce' ? 'bounce' : 'spamreport',
    type: 'bounce',
    email: about,
    sg_event_id: 'e',
    timestamp: Date.parse(TIME) / 1000,
    ...IDS,
  }),
  mailgun: ({ about, event }) => ({
    'event-data': {
      event: event === 'bounce' ? 'failed' : 'complained',
      severity: 'permanent',
      reason: 'bounce',
      id: 'e',
      timestamp: Date.parse(TIME) / 1000,
      recipient: about,
      'user-variables': IDS,
    },
  }),
  postmark: ({ about, event }) => ({
    RecordType: event === 'bounce' ? 'Bounce' : 'SpamComplaint',
    Type: event === 'bounce' ? 'HardBounce' : 'SpamComplaint',
    ID: 1,
    MessageID: 'm',
    Email: about,
    BouncedAt: TIME,
    Metadata: IDS,
  }),
  brevo: ({ about, event }) => ({
    event: event === 'bounce' ? 'hard_bounce' : 'spam',
    email: about,
    'message-id': 'm',
    ts_epoch: Date.parse(TIME),
    'X-Mailin-custom': JSON.stringify(IDS),
  }),
  // An event for each address, without saying which.
  resend: ({ to, copies, event }) => ({
    type: event === 'bounce' ? 'email.bounced' : 'email.complained',
    created_at: TIME,
    data: {
      to,
      tags: { ...IDS, recipients: String(to.length + copies.length) },
      ...(event === 'bounce' ? { bounce: { type: 'Permanent', message: 'gone' } } : {}),
    },
  }),
  // All who may have complained.
  ses: ({ to, copies, about, event }) => ({
    eventType: event === 'bounce' ? 'Bounce' : 'Complaint',
    [event]: {
      timestamp: TIME,
      ...(event === 'bounce'
        ? { bounceType: 'Permanent', bounceSubType: 'General', bouncedRecipients: [{ emailAddress: about }] }
        : { complainedRecipients: [...to, ...copies].map((emailAddress) => ({ emailAddress })) }),
    },
    mail: {
      timestamp: TIME,
      destination: [...to, ...copies],
      tags: { deliveryid: ['42'], tenantid: ['7'] },
    },
  }),
};

/** Those that name the address of a bounce, or of a complaint. */
const NAMES = ['sendgrid', 'mailgun', 'postmark', 'brevo'];

describe('reports of carriers about one address of an email', () => {
  const suppressedBy = (kind: string, reported: Reported): readonly (string | undefined)[] => {
    const { read } = findCarrier(kind)!.reports!.open({});
    const given = read(REPORTS[kind]!(reported) as never, { reportId: 'r1', tenantid: 7 });
    const { events } = checkEvents(given, 7, NOW_MS);
    expect(events, 'recorded').to.not.have.length(0);
    return events.flatMap(({ suppress }) => (suppress ? [suppress.address] : []));
  };

  it('are covered here for all carriers', () => {
    const kinds = CARRIERS.filter(({ reports }) => reports).map(({ kind }) => kind);
    expect(Object.keys(REPORTS)).to.have.members(kinds);
  });

  for (const kind of Object.keys(REPORTS)) {
    it(`suppress no other address: ${kind}`, () => {
      for (const event of ['bounce', 'complaint'] as const)
        for (const to of [['a@example.com'], ['a@example.com', 'b@example.com']])
          for (const copies of [[], ['c@example.com'], ['c@example.com', 'd@example.com']])
            for (const about of [...to, ...copies]) {
              const suppressed = suppressedBy(kind, { to, copies, about, event });
              const isNamed =
                to.length + copies.length === 1 ||
                NAMES.includes(kind) ||
                (kind === 'ses' && event === 'bounce');
              expect(suppressed, JSON.stringify({ event, to, copies, about })).to.deep.equal(
                isNamed ? [about] : [],
              );
            }
    });
  }

  it('suppress nobody that the email did not go to, whatever a server says to SES', () => {
    const bounce = { about: FORWARDED, event: 'bounce' } as const;
    const [to, copies] = [['a@example.com'], ['c@example.com']];
    expect(suppressedBy('ses', { ...bounce, to, copies })).to.deep.equal([]);
    // There is but one whom it did not reach.
    expect(suppressedBy('ses', { ...bounce, to, copies: [] })).to.deep.equal(to);
    expect(suppressedBy('ses', { ...bounce, about: '<A@Example.com>', to, copies })).to.deep.equal(to);
  });

  it('record what SES says of no address in particular for each of them', () => {
    const { read } = findCarrier('ses')!.reports!.open({});
    const destination = ['a@example.com', 'c@example.com'];
    for (const eventType of ['Reject', 'Open', 'Click']) {
      const part = { timestamp: TIME, reason: 'Bad content' };
      const mail = { timestamp: TIME, destination, tags: { deliveryid: ['42'], tenantid: ['7'] } };
      const given = read(
        { eventType, [eventType.toLowerCase()]: part, mail },
        {
          reportId: 'r1',
          tenantid: 7,
        },
      );
      expect(given.map((item) => item?.recipient)).to.deep.equal(destination);
    }
  });
});
