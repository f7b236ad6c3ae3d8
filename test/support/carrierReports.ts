import { createHmac, createSign, randomBytes } from 'node:crypto';
import { SNS_KEY } from './snsKey.js';

/** A report as it is posted. */
export interface Posted {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const SECRETS = {
  resend: `whsec_${Buffer.from('canary-secret-of-resend').toString('base64')}`,
  mailgun: 'canary-key-of-mailgun',
  postmark: 'canary-password-of-postmark',
  brevo: 'canary-password-of-brevo',
  ses: 'arn:aws:sns:eu-central-1:123456789012:email-events',
} as const;
export const SNS_HOST = 'https://sns.eu-central-1.amazonaws.com';
const JSON_TYPE = { 'content-type': 'application/json' };

const seconds = (): number => Math.floor(Date.now() / 1000);

/** As Svix signs for Resend. */
export function fromResend(report: object, at = seconds(), secret: string = SECRETS.resend): Posted {
  const body = JSON.stringify(report);
  const id = `msg_${randomBytes(8).toString('hex')}`;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  const headers = {
    'svix-id': id,
    'svix-timestamp': String(at),
    'svix-signature': `v1,c3VwZXJzZWRlZA== v1,${signature}`,
  };
  return { headers: { ...JSON_TYPE, ...headers }, body };
}

export function fromMailgun(event: object, at = seconds(), secret: string = SECRETS.mailgun): Posted {
  const token = randomBytes(25).toString('hex');
  const signature = createHmac('sha256', secret).update(`${at}${token}`).digest('hex');
  const body = { signature: { timestamp: String(at), token, signature }, 'event-data': event };
  return { headers: JSON_TYPE, body: JSON.stringify(body) };
}

function fromPostmark(report: object, secret: string = SECRETS.postmark): Posted {
  const authorization = `Basic ${Buffer.from(`rowpost:${secret}`).toString('base64')}`;
  return { headers: { ...JSON_TYPE, authorization }, body: JSON.stringify(report) };
}

/** As SNS signs what SES publishes. */
export function fromSes(
  report: object,
  changes: Readonly<Record<string, unknown>> = {},
  key = SNS_KEY,
): Posted {
  const message: Record<string, unknown> = {
    Type: 'Notification',
    MessageId: randomBytes(16).toString('hex'),
    TopicArn: SECRETS.ses,
    Message: JSON.stringify(report),
    Timestamp: new Date().toISOString(),
    SignatureVersion: '2',
    SigningCertURL: `${SNS_HOST}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`,
    ...changes,
  };
  const names =
    message['Type'] === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  const text = names.flatMap((name) => (name in message ? [`${name}\n${String(message[name])}\n`] : []));
  const algorithm = message['SignatureVersion'] === '1' ? 'sha1' : 'sha256';
  const signature = createSign(algorithm).update(text.join('')).sign(key, 'base64');
  return {
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify({ Signature: signature, ...message }),
  };
}

/** Reports of a bounce, as their documentation shows them. */
export const BOUNCES = {
  resend: (deliveryid: string, tenantid: number, to = ['ada@example.com']) => ({
    type: 'email.bounced',
    created_at: new Date().toISOString(),
    data: {
      email_id: '56761188-7520-42d8-8898-ff6fc54ce618',
      to,
      tags: { deliveryid, tenantid: String(tenantid) },
      bounce: { message: 'no such user', subType: 'General', type: 'Permanent' },
    },
  }),
  mailgun: (deliveryid: string, tenantid: number, id = randomBytes(8).toString('hex')) => ({
    event: 'failed',
    id,
    timestamp: Date.now() / 1000,
    severity: 'permanent',
    reason: 'bounce',
    recipient: 'ada@example.com',
    'delivery-status': { code: 550, message: 'no such user', 'enhanced-code': '5.1.1' },
    'user-variables': { deliveryid, tenantid: String(tenantid) },
  }),
  postmark: (deliveryid: string, tenantid: number, id = 42) => ({
    RecordType: 'Bounce',
    ID: id,
    Type: 'HardBounce',
    MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
    Email: 'ada@example.com',
    BouncedAt: new Date().toISOString(),
    Details: 'no such user',
    Metadata: { deliveryid, tenantid: String(tenantid) },
  }),
  brevo: (deliveryid: string, tenantid: number) => ({
    event: 'hard_bounce',
    email: 'ada@example.com',
    id: 26224,
    'message-id': '<202611271200.12345678901@smtp-relay.mailin.fr>',
    ts_epoch: Date.now(),
    reason: 'no such user',
    'X-Mailin-custom': JSON.stringify({ deliveryid, tenantid: String(tenantid) }),
  }),
  ses: (deliveryid: string, tenantid: number) => ({
    eventType: 'Bounce',
    bounce: {
      bounceType: 'Permanent',
      bounceSubType: 'General',
      bouncedRecipients: [
        {
          emailAddress: 'ada@example.com',
          action: 'failed',
          status: '5.1.1',
          diagnosticCode: 'no such user',
        },
      ],
      timestamp: new Date().toISOString(),
    },
    mail: {
      timestamp: new Date().toISOString(),
      destination: ['ada@example.com'],
      tags: { deliveryid: [deliveryid], tenantid: [String(tenantid)] },
    },
  }),
} as const;

/** A signed report of a bounce from each carrier, by its kind. */
export const SIGNED_BOUNCES: Readonly<
  Record<string, (deliveryid: string, tenantid: number, secret?: string) => Posted>
> = {
  resend: (deliveryid, tenantid, secret) =>
    fromResend(BOUNCES.resend(deliveryid, tenantid), undefined, secret),
  mailgun: (deliveryid, tenantid, secret) =>
    fromMailgun(BOUNCES.mailgun(deliveryid, tenantid), undefined, secret),
  postmark: (deliveryid, tenantid, secret) => fromPostmark(BOUNCES.postmark(deliveryid, tenantid), secret),
  brevo: (deliveryid, tenantid, secret = SECRETS.brevo) =>
    fromPostmark(BOUNCES.brevo(deliveryid, tenantid), secret),
  // What is signed names the topic.
  ses: (deliveryid, tenantid) => fromSes(BOUNCES.ses(deliveryid, tenantid)),
};

export const secretOf = (kind: string): string => new Map(Object.entries(SECRETS)).get(kind) ?? '';
