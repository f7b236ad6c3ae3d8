import { setting } from './setting.js';
import { flag, integer, oneOf, optional, webAddress } from '../settingValues.js';

export const EMAIL = {
  mailTransport: setting(
    'MAIL_TRANSPORT',
    optional(oneOf('sendgrid', 'mailbox')),
    undefined,
    '`mailbox` keeps email locally, shown at `/mailbox`.',
    '`mailbox` in embedded mode, otherwise `sendgrid`',
  ),
  sendgridBaseUrl: setting(
    'SENDGRID_BASE_URL',
    webAddress,
    'https://api.sendgrid.com/',
    'Base URL of the SendGrid API; set it for another region or a test server.',
  ),
  sesBaseUrl: setting(
    'SES_BASE_URL',
    optional(webAddress),
    undefined,
    'Base URL of the SES API; set it to use a test server.',
    "that of the account's region",
  ),
  resendBaseUrl: setting(
    'RESEND_BASE_URL',
    webAddress,
    'https://api.resend.com/',
    'Base URL of the Resend API; set it to use a test server.',
  ),
  postmarkBaseUrl: setting(
    'POSTMARK_BASE_URL',
    webAddress,
    'https://api.postmarkapp.com/',
    'Base URL of the Postmark API; set it to use a test server.',
  ),
  mailgunBaseUrl: setting(
    'MAILGUN_BASE_URL',
    webAddress,
    'https://api.mailgun.net/',
    'Base URL of the Mailgun API; set it to use a test server.',
  ),
  mailgunEuBaseUrl: setting(
    'MAILGUN_EU_BASE_URL',
    webAddress,
    'https://api.eu.mailgun.net/',
    'Base URL of the Mailgun API for accounts in the EU; set it to use a test server.',
  ),
  smtpAllowPrivateNetwork: setting(
    'SMTP_ALLOW_PRIVATE_NETWORK',
    flag,
    false,
    "Whether tenants' SMTP servers may be in a private network, on any port and without encryption, even in production.",
  ),
  sendDeadlineMs: setting(
    'SEND_DEADLINE_MS',
    integer(100),
    15_000,
    'Timeout of a carrier call, from connecting to the last byte of the response.',
  ),
} as const;
