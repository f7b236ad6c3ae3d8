import { expect } from 'chai';
import { openCaptureFixture, type CaptureFixture } from '../db/capture/captureFixture.js';

/**
 * PostgreSQL lets the expression of a virtual column use an operator of a tenant, if its function is PostgreSQL's own. The trigger
 * that computes such columns parses their text as the service: nothing of a tenant may be looked up for that.
 */
describe("attack: a virtual column's operator gets a namesake", () => {
  let fixture: CaptureFixture;
  before(async () => {
    fixture = await openCaptureFixture('', []);
    const { schema } = fixture.shop.tenant;
    await fixture.shop.sql(
      `create operator ${schema}.@@ (function = pg_catalog.numeric_add, leftarg = numeric, rightarg = numeric);
       create table t (id int primary key, n int, v numeric generated always as (n operator(${schema}.@@) 1.5) virtual,
         w int generated always as (n + 1) virtual, c text generated always as (n::text collate "C" || '!') virtual)`,
    );
    await fixture.capture('t', 'all');
    await fixture.shop.sql(
      `create function who(int, numeric) returns numeric immutable language plpgsql as
         $$ begin return case when current_user like '%tenant%' then 1 else 42 end; end $$;
       create operator ${schema}.@@ (function = who, leftarg = int, rightarg = numeric)`,
    );
  });
  after(() => fixture.close());
  beforeEach(() => fixture.events());

  for (const isolation of ['read committed', 'repeatable read']) {
    it(`which does not run: ${isolation}`, async () => {
      await fixture.writer.query(`set default_transaction_isolation = '${isolation}'`);
      await fixture.writer.query('insert into t values (1, 5)');
      await fixture.writer.query('delete from t');
      const [inserted, deleted] = await fixture.events();
      expect(inserted?.new).to.equal('{"id":1,"n":5,"v":null,"w":6,"c":"5!"}');
      expect(deleted?.old).to.equal(inserted?.new);
    });
  }
});
