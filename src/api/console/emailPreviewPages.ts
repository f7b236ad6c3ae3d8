import { Router } from 'express';
import { CONSOLE } from './consolePath.js';
import { readDelivery, readRule } from './deliveryPages.js';
import { toDelivery, type FullDelivery } from './deliveryView.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const EMAIL = `${CONSOLE}/deliveries/:deliveryid/email`;

const PREVIEW = `query ($type: ID!, $target: String, $key: GenericScalar, $operation: String, $context: GenericScalar,
    $role: Int) {
  Utility {
    preview_email(email_type: $type, target: $target, key: $key, operation: $operation, context: $context,
        query_roleid: $role) {
      subject html sender recipients cc bcc attachments { filename mimetype size }
      error { code field message line column hint }
    }
  }
}`;

interface Preview {
  readonly subject: string | null;
  readonly html: string | null;
}

/** The email of a delivery as it would be composed now. */
export function emailPreviewPages({ page }: PageHandlers): Router {
  const email = page(async ({ query, show, isAdmin }, req) => {
    const row = await readDelivery({ query, isAdmin }, req);
    const preview = await previewOf(query, row);
    await show('email-preview', {
      title: preview.subject ?? 'Email',
      delivery: toDelivery(row),
      preview,
      isOfChange: isOfChange(row),
      frame: preview.html === null ? undefined : `${CONSOLE}/deliveries/${row.deliveryid}/email/body`,
    });
  });

  const body = page(async ({ query, isAdmin, showEmail }, req) => {
    const { html } = await previewOf(query, await readDelivery({ query, isAdmin }, req));
    showEmail(html ?? '');
  });

  return Router().get(EMAIL, email).get(`${EMAIL}/body`, body);
}

/** Runs with the rule's role, and for the original change, as a redrive would, if the change is still kept. */
async function previewOf(query: Visit['query'], row: FullDelivery): Promise<Preview> {
  const rule = await readRule(query, row.ruleid);
  const { Utility } = await query<{ Utility: { preview_email: Preview } }>(PREVIEW, {
    type: row.email_type,
    target: row.target,
    operation: row.operation,
    ...(isOfChange(row)
      ? { context: { records: { new: row.change?.new, old: row.change?.old } } }
      : { key: row.key }),
    ...(rule ? { role: rule.query_roleid } : {}),
  });
  return Utility.preview_email;
}

/** Whether the change can be passed on; the file of an upload can't. */
function isOfChange({ change, operation }: FullDelivery): boolean {
  return change !== null && operation !== 'upload';
}
