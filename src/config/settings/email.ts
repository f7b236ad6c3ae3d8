import { setting } from './setting.js';
import { flag, integer, oneOf, optional } from '../settingValues.js';

export const EMAIL = {
  mailTransport: setting(
    'MAIL_TRANSPORT',
    optional(oneOf('sendgrid', 'mailbox')),
    undefined,
    "`sendgrid` sends email through the tenants' carriers, whichever they are; `mailbox` keeps it locally, shown at `/mailbox`.",
    '`mailbox` in embedded mode, otherwise `sendgrid`',
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
