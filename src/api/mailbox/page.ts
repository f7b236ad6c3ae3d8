import type { MailSummary, OpenedMail } from '../../db/delivery/mailbox.js';
import { Html, html, htmlPage } from './html.js';

export interface MailboxView {
  readonly mails: readonly MailSummary[];
  /** Zero-based. */
  readonly page: number;
  readonly hasOlder: boolean;
  readonly opened?: OpenedMail;
}

/** The list of mails, next to the open one. */
export function mailboxPage({ mails, page, hasOlder, opened }: MailboxView): Html {
  const list = html`<nav class="list" aria-label="Mails">
    ${
      mails.length === 0
        ? emptyNote
        : html`<ol>
            ${mails.map((mail) => listItem(mail, page, opened?.mailid))}
          </ol>`
    }
    ${pager(page, hasOlder)}
  </nav>`;
  const reader = opened
    ? message(opened)
    : html`<p class="hint">Choose a mail to read it as its recipient would.</p>`;
  return layout(
    opened ? `${opened.subject} · Mailbox` : 'Mailbox',
    html`<div class="${opened ? 'panes reading' : 'panes'}">
      ${list}
      <main>${reader}</main>
    </div>`,
  );
}

/** The sign-in form, where the mailbox is not open to everyone on the machine. */
export function signInPage(problem: string | undefined): Html {
  return layout(
    'Sign in · Mailbox',
    html`<main class="sign-in">
      <h1>Sign in to read the mail</h1>
      <p class="hint">As the tenant's root, or as a role that holds admin.</p>
      ${problem === undefined ? new Html('') : html`<p class="problem" role="alert">${problem}</p>`}
      <form method="post" action="/mailbox/sign-in">
        <label for="tenantid">Tenant</label>
        <input id="tenantid" name="tenantid" inputmode="numeric" required />
        <label for="login">Login</label>
        <input id="login" name="login" autocomplete="username" required />
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required />
        <button>Sign in</button>
      </form>
    </main>`,
  );
}

const emptyNote = html`<p class="hint">No mail yet. It arrives here when a change matches an email rule.</p>`;

function listItem(mail: MailSummary, page: number, openedId: string | undefined): Html {
  const current = mail.mailid === openedId ? new Html(' aria-current="page"') : new Html('');
  return html`<li>
    <a href="/mailbox/${mail.mailid}?page=${page}" ${current}>
      <strong>${mail.subject}</strong>
      <span>${mail.recipients.join(', ')}</span>
      <span class="about">Tenant ${mail.tenantid} · ${time(mail.time)}</span>
    </a>
  </li>`;
}

function pager(page: number, hasOlder: boolean): Html {
  const newer = page > 0 ? html`<a href="/mailbox?page=${page - 1}">Newer</a>` : new Html('');
  const older = hasOlder ? html`<a href="/mailbox?page=${page + 1}">Older</a>` : new Html('');
  return html`<p class="pager">${newer}${older}</p>`;
}

function message(mail: OpenedMail): Html {
  return html`<article>
    <header>
      <a class="back" href="/mailbox">All mail</a>
      <h1>${mail.subject}</h1>
      <dl>
        <dt>From</dt>
        <dd>${mail.sender}</dd>
        <dt>To</dt>
        <dd>${mail.recipients.join(', ')}</dd>
        ${line('Cc', mail.cc)}${line('Bcc', mail.bcc)}${line('Reply to', mail.reply_to)} ${attachments(mail)}
        ${line('Categories', mail.categories)} ${headers(mail)}
        <dt>Time</dt>
        <dd>${time(mail.time)}</dd>
        <dt>Delivery</dt>
        <dd>
          ${delivery(mail)} of tenant ${mail.tenantid} ·
          <a href="/mailbox/${mail.mailid}/raw">source</a>
        </dd>
      </dl>
    </header>
    ${textPart(mail)}
    <iframe title="The mail, as its recipient sees it" src="/mailbox/${mail.mailid}/body" sandbox></iframe>
  </article>`;
}

function delivery({ deliveryid }: OpenedMail): Html {
  return deliveryid === null
    ? html`none, a test mail`
    : html`<a href="/console/deliveries/${deliveryid}">${deliveryid}</a>`;
}

function attachments({ attachments: files }: OpenedMail): Html {
  const lines = files.map(({ filename, size }) => `${filename} (${size} bytes)`);
  return lines.length === 0
    ? new Html('')
    : html`<dt>Attached</dt>
        <dd>${lines.join(', ')}</dd>`;
}

function line(label: string, items: readonly string[]): Html {
  return items.length === 0
    ? new Html('')
    : html`<dt>${label}</dt>
        <dd>${items.join(', ')}</dd>`;
}

function headers({ headers: values }: OpenedMail): Html {
  return html`${Object.entries(values).map(([name, value]) => line(name, [value]))}`;
}

function textPart({ text }: OpenedMail): Html {
  return text === null
    ? new Html('')
    : html`<details>
        <summary>Plain text part</summary>
        <pre>${text}</pre>
      </details>`;
}

function time(moment: Date): Html {
  const iso = moment.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

function layout(title: string, content: Html): Html {
  return htmlPage(
    title,
    'mailbox/mailbox.css',
    html`<header class="top">
        <a href="/mailbox">Rowpost mailbox</a><span>Kept here instead of being sent</span
        ><a class="away" href="/console">Console</a>
      </header>
      ${content}`,
  );
}
