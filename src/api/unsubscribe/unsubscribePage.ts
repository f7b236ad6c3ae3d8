import type { Unsubscribed } from '../../db/delivery/unsubscribes.js';
import type { UnsubscribeLink } from '../../email/unsubscribeLink.js';
import { html, htmlPage, type Html } from '../mailbox/html.js';

/** Shows what the recipient is subscribed to, with buttons to change that. */
export function unsubscribePage(
  { address, emailType }: UnsubscribeLink,
  { tenant, emailTypes, allTypes }: Unsubscribed,
): Html {
  const kind = emailType.replaceAll('_', ' ');
  const off = allTypes || emailTypes.includes(emailType);
  return layout(
    off ? 'Unsubscribed' : 'Unsubscribe',
    html`${off ? done(tenant, kind, allTypes) : html`<p>Stop getting this mail from ${tenant}?</p>`}
      <p class="quiet">Sent to ${address}</p>
      <form method="post">
        ${off ? [] : button('type', `Unsubscribe from “${kind}”`, 'first')}
        ${allTypes ? [] : button('all', `Unsubscribe from all mail from ${tenant}`)}
        ${off ? button('subscribe', 'Subscribe again') : []}
      </form>
      <p class="quiet">Mail about something you did, such as a receipt, still arrives.</p>`,
  );
}

export function previewPage(): Html {
  return layout(
    'Unsubscribe',
    html`<p>
      This mail is a preview or a test. In the mail that is sent, this link unsubscribes its recipient.
    </p>`,
  );
}

export function invalidLinkPage(): Html {
  return layout(
    'This link does not work',
    html`<p>It may be incomplete: open it from the mail, or copy it as a whole.</p>`,
  );
}

function done(tenant: string, kind: string, allTypes: boolean): Html {
  return allTypes
    ? html`<p role="status">You have unsubscribed from all mail from ${tenant}.</p>`
    : html`<p role="status">You have unsubscribed from “${kind}” from ${tenant}.</p>`;
}

function button(choice: string, label: string, style = ''): Html {
  return html`<button name="choice" value="${choice}" class="${style}">${label}</button>`;
}

function layout(title: string, content: Html): Html {
  return htmlPage(
    title,
    'signin/signin.css',
    html`<main>
      <h1>${title}</h1>
      ${content}
    </main>`,
  );
}
