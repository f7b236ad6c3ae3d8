import { expect } from 'chai';
import { AppError } from '../../src/foundation/errors.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** PL/pgSQL lets anyone raise errors under the codes by which PostgreSQL reports that it is unavailable. */
describe('attack: code that pretends an outage', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(`
      create function fails(code text) returns boolean language plpgsql as $$
        begin if code <> 'none' then raise exception using errcode = code, message = 'sold out'; end if; return true; end $$;
      create table note (id int primary key, code text);
      create table kind (code text primary key);
      insert into kind values ('none'), ('08006'), ('53100'), ('53200'), ('57P01'), ('57P03'), ('57014'), ('25006');
      create policy read_kind on kind using (fails(code));
      alter table kind enable row level security;
      alter table kind force row level security;
      create table coded (id int primary key, code text references kind);
      create function check_note() returns trigger language plpgsql as $$ begin perform fails(new.code); return new; end $$;
      create constraint trigger check_note after insert on note deferrable initially deferred
        for each row execute function check_note();`);
  });
  after(() => shop.close());

  for (const code of ['08006', '53100', '53200', '57P01', '57P03', '57014', '25006']) {
    it(`${code} fails the condition of that event alone`, async () => {
      const { tenantid, schema } = shop.tenant;
      const events = ['none', code].map((each, id) => ({
        old: null,
        new: JSON.stringify({ id, code: each }),
      }));
      const verdicts = await shop.engine.evaluateCondition(
        tenantid,
        schema,
        'coded',
        "new.kind.code <> ''",
        events,
      );
      expect(verdicts[0]).to.equal(true);
      expect(verdicts[1]).to.be.instanceOf(AppError).with.property('code', 'CHECK_VIOLATION');
    });

    it(`${code} at the commit of a mutation says that nothing was changed`, async () => {
      const { errors } = await shop.ask(`mutation { create_note(input: { id: 1, code: "${code}" }) { id } }`);
      expect(errors?.[0]).to.deep.include({ message: 'sold out' });
      expect(errors?.[0]?.extensions.code).to.equal('CHECK_VIOLATION');
    });
  }
});
