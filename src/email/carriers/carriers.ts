import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Account, CarrierKind } from './account.js';
import { AttachmentLoader } from './attachmentLoader.js';
import type { Carrier } from './carrier.js';
import { exceedsLimits } from './limits.js';
import { createMailgun } from './mailgun/mailgun.js';
import { createPostmark } from './postmark/postmark.js';
import { createResend } from './resend/resend.js';
import { createSendgrid } from './sendgrid/sendgrid.js';
import { createSes } from './ses/ses.js';
import { createSmtp } from './smtp/smtp.js';
import type { EmailMessage, Carriers, SendContext } from './sending.js';

export interface CarrierOptions {
  readonly sendgridBaseUrl: string;
  /** Overrides the region's endpoint. */
  readonly sesBaseUrl: string | undefined;
  readonly resendBaseUrl: string;
  readonly postmarkBaseUrl: string;
  readonly mailgunBaseUrl: string;
  readonly mailgunEuBaseUrl: string;
  /** Allows SMTP servers in private networks, on any port. */
  readonly smtpAllowPrivateNetwork: boolean;
  /** How this installation introduces itself to SMTP servers. */
  readonly hostname: string;
  /** Source of attachments; closed with the carriers. Without it, emails have none. */
  readonly storage?: FileStorage;
}

/** Sends each email with the carrier of its account. */
export function createCarriers(options: CarrierOptions): Carriers {
  const loader = options.storage && new AttachmentLoader(options.storage);
  const carriers: { readonly [K in CarrierKind]: Carrier<Extract<Account, { kind: K }>> } = {
    sendgrid: createSendgrid(options.sendgridBaseUrl),
    smtp: createSmtp(options),
    ses: createSes(options.sesBaseUrl),
    resend: createResend(options.resendBaseUrl),
    postmark: createPostmark(options.postmarkBaseUrl),
    mailgun: createMailgun({ us: options.mailgunBaseUrl, eu: options.mailgunEuBaseUrl }),
  };
  // Each carrier only gets accounts of its own kind, which TypeScript can't infer from a lookup.
  const carrierOf = ({ kind }: Account): Carrier => carriers[kind];

  const send = async (message: EmailMessage, context: SendContext) => {
    const carrier = carrierOf(context.account);
    const tooLarge = exceedsLimits(message, carrier.limits);
    if (tooLarge) return tooLarge;
    if (!loader) return carrier.send({ ...message, loaded: [] }, context);
    return loader.with(message, (loaded) => carrier.send({ ...message, loaded }, context));
  };
  return {
    needsAccount: true,
    send(message, { account, ...context }) {
      if (!account) throw new Error('a carrier needs an account');
      return send(message, { ...context, account });
    },
    verify: (account, deadlineMs) => carrierOf(account).verify(account, deadlineMs),
    async close() {
      for (const carrier of Object.values(carriers)) carrier.close();
      await options.storage?.close();
    },
  };
}
