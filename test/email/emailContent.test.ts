import { expect } from 'chai';
import type { EmailType } from '../../src/db/email/emailTypes.js';
import { EmailProblem, type Email } from '../../src/email/email.js';
import { fieldsOf } from '../../src/email/emailFields.js';
import { readContent } from '../../src/email/emailContent.js';
import { messageIdOf } from '../../src/email/message/messageId.js';
import { withPreheader } from '../../src/email/preheader.js';
import { warningsOf } from '../../src/email/warnings.js';
import { cpuTimer } from '../support/cpuTime.js';

const TYPE: EmailType = {
  syntax: 'jinja2',
  template: '<p>hello</p>',
  subject: 'S',
  sender: 'a@example.com',
  recipients: ['b@example.com'],
  queries: [],
  options: {},
};

/** The content of an email of a type whose fields have rendered to what their sources say. */
function contentOf(changes: Partial<EmailType>, plainText = 'made'): Partial<Email> {
  const fields = fieldsOf({ ...TYPE, ...changes });
  return readContent(fields, {
    textOf: ({ source }) => source,
    plainTextOf: ({ withPlainText }) => (withPlainText ? plainText : undefined),
  });
}

function codeOf(changes: Partial<EmailType>): unknown {
  try {
    contentOf(changes);
    return undefined;
  } catch (error) {
    if (!(error instanceof EmailProblem)) throw error;
    return [error.failure.code, error.failure.field];
  }
}

describe('email content', () => {
  it('has the given text, one derived from the HTML, or none', () => {
    expect(contentOf({ text: 'given' }).text).to.equal('given');
    expect(contentOf({ text: null }).text).to.equal('made');
    expect(contentOf({}).text).to.equal('made');
    for (const [text, plainText] of [
      ['none', 'made'],
      [' \n', 'made'],
      [null, ''],
    ] as const) {
      expect(contentOf({ text }, plainText)).not.to.have.property('text');
    }
  });

  it('is answered to reply_to, or to the sender', () => {
    expect(contentOf({ reply_to: 'Help <help@bücher.example>, a@b.org; A@b.org' }).replyTo).to.deep.equal([
      { email: 'help@xn--bcher-kva.example', name: 'Help' },
      { email: 'a@b.org', name: '' },
    ]);
    expect(contentOf({ reply_to: ' ' })).not.to.have.property('replyTo');
    expect(codeOf({ reply_to: 'a@b.org, nobody' })).to.deep.equal(['REPLY_TO_INVALID', 'reply_to']);
    const many = Array.from({ length: 101 }, (_, index) => `a${index}@b.org`).join();
    expect(codeOf({ reply_to: many })).to.deep.equal(['REPLY_TO_INVALID', 'reply_to']);
  });

  it('has the given headers, and is marked as auto-generated', () => {
    expect(contentOf({}).headers).to.deep.equal({ 'Auto-Submitted': 'auto-generated' });
    const headers = { 'auto-submitted': 'no', 'X-Empty': ' ', 'X-A': ' ä 1 ' };
    expect(contentOf({ headers }).headers).to.deep.equal({ 'auto-submitted': 'no', 'X-A': 'ä 1' });
  });

  it('prevents header injection', () => {
    for (const sign of ['\r\n', '\n', '\r', '\0', '\v', '\f', '\u0085', '\t', '\u001f', '\u007f']) {
      const headers = { 'X-A': `a${sign}Bcc: eve@example.com` };
      expect(codeOf({ headers }), JSON.stringify(sign)).to.deep.equal(['HEADER_INVALID', 'headers.X-A']);
    }
    expect(codeOf({ headers: { 'X-A': 'a'.repeat(999) } })).to.deep.equal(['HEADER_INVALID', 'headers.X-A']);
    // An id or a URL can't be broken.
    for (const name of ['References', 'in-reply-to', 'List-Archive']) {
      const headers = { [name]: `<${'a'.repeat(950)}>` };
      expect(codeOf({ headers }), name).to.deep.equal(['HEADER_INVALID', `headers.${name}`]);
      expect(contentOf({ headers: { [name]: `<${'a'.repeat(850)}>` } }).headers).to.have.property(name);
    }
    expect(contentOf({ headers: { 'X-A': 'a'.repeat(998) } }).headers).to.have.property('X-A');
    expect(contentOf({ headers: { 'X-A': 'a\ud800' } }).headers).to.include({ 'X-A': 'a\ufffd' });
  });

  it('has categories, each once', () => {
    const categories = ['a', ' a\n', '', 'b\tc'];
    expect(contentOf({ categories }).categories).to.deep.equal(['a', 'b c']);
    expect(contentOf({ categories: [' '] })).not.to.have.property('categories');
    expect(codeOf({ categories: ['a', 'x'.repeat(256)] })).to.deep.equal([
      'CATEGORY_INVALID',
      'categories[1]',
    ]);
  });

  it('hides the preheader at the start of the body, and omits it from the text', () => {
    const before = (html: string): string => withPreheader(html, 'P').split('<div style="display:none')[0]!;
    expect(before('<p>x</p>')).to.equal('');
    const head = '<!DOCTYPE html>\n<html lang="de"><head><title>t</title></head>';
    expect(before(`${head}<body class="a>b" data-c='>'>x`)).to.equal(`${head}<body class="a>b" data-c='>'>`);
    expect(before(`${head}<p>x`)).to.equal(head);
    expect(before('<!doctype html><p>')).to.equal('<!doctype html>');
    expect(before('<!--<body>--><BODY>x')).to.equal('<!--<body>--><BODY>');
    expect(before('<bodyguard><p>')).to.equal('');
    for (const open of ['<!-- <body>', '<body class="', '<body']) expect(before(open)).to.equal('');

    const { html, text } = contentOf({ preheader: ' </div><b>&\n"x" ' });
    expect(html).to.match(/^<div style="[^"]*">&lt;\/div&gt;&lt;b&gt;&amp; "x"<\/div><p>hello<\/p>$/);
    expect(text).to.equal('made');
    expect(contentOf({ preheader: ' ' }).html).to.equal(TYPE.template);
  });

  it('finds the body of hostile HTML quickly', () => {
    for (const html of ['<'.repeat(2e6), '<body '.repeat(3e5), '<!--'.repeat(5e5), '<!---->'.repeat(3e5)]) {
      const cpuMs = cpuTimer();
      withPreheader(html, 'P');
      expect(cpuMs(), html.slice(0, 8)).to.be.below(1_000);
    }
  });

  it('causes a warning when mailboxes would clip it', () => {
    const email = { sender: { email: '', name: '' }, recipients: [], cc: [], bcc: [], subject: '' };
    expect(warningsOf({ ...email, html: 'ä'.repeat(51_000) })).to.deep.equal([]);
    const [warning] = warningsOf({ ...email, html: 'ä'.repeat(51_001) });
    expect(warning).to.include({ code: 'HTML_CLIPPED', field: 'template' });
  });

  it('causes a warning when it holds what another tool would have replaced', () => {
    const email = { sender: { email: '', name: '' }, recipients: [], cc: [], bcc: [], subject: '' };
    const warned = (html: string): unknown[] =>
      warningsOf({ ...email, html }).map(({ code, message, hint }) => [code, message, hint?.split(':')[0]]);
    expect(warned('<p>a *|b|* c</p><p>2 *| 3</p>')).to.deep.equal([]);
    expect(warned('<mjml><mj-body></mj-body></mjml>')).to.deep.equal([
      ['FOREIGN_TAG', '<mjml> is sent as it is', 'No mailbox shows MJML'],
    ]);
    expect(warned('<p>Dear *|FNAME|*</p>')).to.deep.equal([
      [
        'FOREIGN_TAG',
        '*|FNAME|* is sent as it is',
        'Write {{ records.new.name }} for data, and {{ unsubscribe_url }} for the link to unsubscribe.',
      ],
    ]);
  });

  it('has a Message-ID made of installation, tenant and delivery', () => {
    expect(messageIdOf('https://rowpost.example:8443/x', 7, '42')).to.equal(
      '<delivery.7.42@rowpost.example>',
    );
    expect(messageIdOf('http://10.1.2.3:8080', 7, '42')).to.equal('<delivery.7.42@[10.1.2.3]>');
    expect(messageIdOf('http://[::1]:8080', 7, '42')).to.equal('<delivery.7.42@[::1]>');
    expect(messageIdOf('https://bücher.example', 7, '42')).to.equal('<delivery.7.42@xn--bcher-kva.example>');
  });
});
