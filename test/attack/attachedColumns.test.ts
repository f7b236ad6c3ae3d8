import { expect } from 'chai';
import { findAttachments, type AttachmentDeps } from '../../src/email/attachments.js';
import type { EmailTrigger } from '../../src/email/email.js';
import type { EmailType } from '../../src/db/email/emailTypes.js';
import { cpuTimer } from '../support/cpuTime.js';

const COLUMNS = Array.from({ length: 1_500 }, (_, column) => `c${column}`);

const TYPE: EmailType = {
  syntax: 'jinja2',
  template: 'x',
  subject: 'S',
  sender: 'shop@example.com',
  recipients: ['ada@example.com'],
  queries: [],
  options: {},
  attachments: COLUMNS,
};

describe('attack: attachments that a thousand columns of a large row name', () => {
  const deps = {} as AttachmentDeps;
  const trigger = (row: object): EmailTrigger => ({
    tenantid: 1,
    queryRoleid: 1,
    operation: 'insert',
    target: 'note',
    old: null,
    new: JSON.stringify(row),
  });

  it('are looked for in the row once, not for each column', async () => {
    const empty = Object.fromEntries(COLUMNS.map((column) => [column, null]));
    const elapsedMs = cpuTimer();
    expect(
      await findAttachments(deps, trigger({ ...empty, text: 'x'.repeat(7_900_000) }), TYPE, [], ''),
    ).to.deep.equal([]);
    expect(elapsedMs()).to.be.below(1_000);
  });

  it('have to be columns', async () => {
    const problem: unknown = await findAttachments(deps, trigger({ c0: null }), TYPE, [], '').catch(
      (error: unknown) => error,
    );
    expect(problem).to.have.nested.property('failure.code', 'ATTACHMENT_UNKNOWN');
  });
});
