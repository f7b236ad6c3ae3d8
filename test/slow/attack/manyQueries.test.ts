import { expect } from 'chai';
import { at, WebFixture } from '../../api/webFixture.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

/** The queries of an email were planned in one go: those of one preview stopped the web process of all tenants for eight seconds. */
describe('attack: emails with many queries', function () {
  let fixture: WebFixture;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    const columns = Array.from({ length: 40 }, (_, n) => `c${n} int`).join(', ');
    const { tenantid } = await fixture.createTenant(
      'hostile',
      `create table t (a int primary key, ${columns})`,
    );
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  const preview = (queries: readonly object[]) =>
    fixture.control(
      root,
      `query ($input: email_typesInput) {
        Utility { preview_email(input: $input, context: { records: { new: { a: 1 } } }) { subject error { code message } } } }`,
      {
        input: { subject: 's', template: 'x', sender: 'a@b.org', recipients: ['a@b.org'], queries },
      },
    );

  it('leave the event loop to other tenants between two steps', async () => {
    const fields = Array.from({ length: 40 }, (_, n) => `c${n}`).join(' ');
    const related = Array.from({ length: 10 }, (_, n) => `t${n}: t { ${fields} }`).join(' ');
    const queries = Array.from({ length: 100 }, (_, n) => ({
      outvar: `q${n}`,
      query: `{ x${n}: t { a } ${related} }`,
    }));
    const longestMs = watchEventLoop();
    const response = await preview(queries);
    const heldMs = longestMs();
    expect(at(response, 'data.Utility.preview_email')).to.deep.equal({ subject: 's', error: null });
    expect(heldMs).to.be.below(500);
  });

  it('have at most a hundred', async () => {
    const queries = Array.from({ length: 101 }, (_, n) => ({ outvar: `q${n}`, query: '{ t { a } }' }));
    expect(at(await preview(queries), 'data.Utility.preview_email.error')).to.deep.equal({
      code: 'BAD_USER_INPUT',
      message: 'queries may contain at most 100.',
    });
  });
});
