import { AppError } from '../../src/foundation/errors.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

describe('probe: conditions that end their session', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(`
      create function fails(code text) returns boolean language plpgsql as $$
        begin if code = 'kill' then perform pg_terminate_backend(pg_backend_pid()); end if;
        if code = 'big' then raise exception '%', repeat('x', 20000000); end if;
        if code = 'notice' then raise notice '%', repeat('x', 20000000); end if;
        if code = 'cancel' then perform pg_cancel_backend(pg_backend_pid()); perform pg_sleep(1); end if;
        return true; end $$;
      create table kind (code text primary key);
      insert into kind values ('none'), ('kill'), ('big'), ('notice'), ('cancel');
      create policy read_kind on kind using (fails(code));
      alter table kind enable row level security;
      alter table kind force row level security;
      create table coded (id int primary key, code text references kind);`);
  });
  after(() => shop.close());

  for (const code of ['kill', 'big', 'notice', 'cancel']) {
    it(`${code}`, async () => {
      const { tenantid, schema } = shop.tenant;
      const events = ['none', code].map((each, id) => ({ old: null, new: JSON.stringify({ id, code: each }) }));
      try {
        const verdicts = await shop.engine.evaluateCondition(tenantid, schema, 'coded', "new.kind.code <> ''", events);
        console.log(code, verdicts.map((v) => (v instanceof AppError ? [v.code, v.message.slice(0, 80)] : v)));
      } catch (e) { console.log(code, 'THROWS', (e as AppError).code, (e as Error).message.slice(0, 200)); }
    });
  }
});
