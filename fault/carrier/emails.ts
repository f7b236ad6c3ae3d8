import { createHash } from 'node:crypto';

/** What the books hold of an email that came over HTTP. */
export interface GivenEmail {
  readonly deliveryid: string;
  readonly tenantid: string;
  readonly carrier: 'sendgrid' | 'resend';
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly html: string;
}

interface SendgridEmail {
  readonly personalizations: readonly { readonly to: readonly { readonly email: string }[] }[];
  readonly subject: string;
  readonly content: readonly { readonly type: string; readonly value: string }[];
  readonly custom_args: { readonly deliveryid: string; readonly tenantid: string };
}

interface ResendEmail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly html: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
}

const RESEND_PATH = '/emails';

export function readEmail(path: string, body: string): GivenEmail {
  if (path === RESEND_PATH) {
    const { to, subject, html, tags } = JSON.parse(body) as ResendEmail;
    const tag = (name: string): string => tags.find((each) => each.name === name)?.value ?? '';
    const ids = { deliveryid: tag('deliveryid'), tenantid: tag('tenantid') };
    return { ...ids, carrier: 'resend', recipients: to, subject, html };
  }
  const { personalizations, subject, content, custom_args: ids } = JSON.parse(body) as SendgridEmail;
  return {
    deliveryid: ids.deliveryid,
    tenantid: ids.tenantid,
    carrier: 'sendgrid',
    recipients: personalizations.flatMap(({ to }) => to.map(({ email }) => email)),
    subject,
    html: content.find(({ type }) => type === 'text/html')?.value ?? '',
  };
}

/** Resend's memory: a key leads to the email that was first taken with it. */
export class IdempotencyKeys {
  readonly #taken = new Map<string, { readonly digest: string; readonly id: string }>();

  /** @returns `new` when the email is to be taken as `id` */
  take(
    apiKey: string,
    key: string,
    body: string,
    id: string,
  ): { readonly kind: 'new' | 'same' | 'other'; readonly id: string } {
    const name = `${apiKey} ${key}`;
    const digest = createHash('sha256').update(body).digest('hex');
    const before = this.#taken.get(name);
    if (!before) {
      this.#taken.set(name, { digest, id });
      return { kind: 'new', id };
    }
    return { kind: before.digest === digest ? 'same' : 'other', id: before.id };
  }
}
