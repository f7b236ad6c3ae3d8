import { expect } from 'chai';
import { exactInteger } from '../../src/foundation/json/losslessJson.js';
import { randomNumbers, testSeed } from '../support/randomNumbers.js';
import { ExactSite, WAYS } from './support/exactRequests.js';

const DDL = `create table held (id int generated always as identity primary key,
  n numeric, j json, b jsonb, l numeric[], i bigint)`;
const BATCH = 200;
const BATCHES = 10;

describe('exact numbers: random values of up to 40 digits', () => {
  let site: ExactSite;
  before(async () => (site = await ExactSite.open(DDL)));
  after(() => site.close());

  it('are stored and returned as sent, for every input path', async () => {
    const seed = testSeed();
    const numbers = randomNumbers(seed, BATCH * BATCHES);
    const ways = Object.keys(WAYS);
    for (let batch = 0; batch < BATCHES; batch++) {
      const sent = numbers.slice(batch * BATCH, (batch + 1) * BATCH);
      const rows = sent.map((n) => `{"n":${n},"j":{"deep":[${n}]},"b":[${n}],"l":[1,${n}]}`);
      const mutation =
        'mutation ($input: [heldInput!]!) { create_many_held(input: $input) { id n j b l exact: n(cast: text) } }';
      const { body } = await site.ask(mutation, `{"input":[${rows.join(',')}]}`, ways[batch % ways.length]);
      // PostgreSQL's own reading of the same texts is what they are measured by.
      const [expected] = await site.texts(
        `select string_agg(format('"n":%s,"j":{"deep":[%s]},"b":[%s],"l":[1,%s],"exact":"%s"', t::numeric, t, t::numeric, t::numeric, t::numeric), E'\\n' order by k)
           from unnest($1::text[]) with ordinality u(t, k)`,
        [sent],
      );
      const answered = body.match(/"n":.*?,"exact":"[^"]*"/g) ?? [];
      expect(answered.join('\n'), `seed ${seed}`).to.equal(expected);
      const [stored] = await site.texts(
        `select string_agg((new ->> 'n') || ' ' || (new -> 'j' -> 'deep' ->> 0), ',' order by eventid)
           from (select * from rowpost.outbox order by eventid desc limit ${BATCH}) e`,
      );
      const [events] = await site.texts(
        `select string_agg(t::numeric || ' ' || t, ',' order by k) from unnest($1::text[]) with ordinality u(t, k)`,
        [sent],
      );
      expect(stored, `seed ${seed}`).to.equal(events);
    }
  });

  it('are accepted by bigint when in range, and otherwise refused, quoted as sent', async () => {
    const seed = testSeed();
    for (const sent of randomNumbers(seed, 150)) {
      const integer = exactInteger(sent);
      const isHeld = integer !== undefined && BigInt.asIntN(64, integer) === integer;
      const { body } = await site.ask(
        'mutation ($i: BigInt) { create_held(input: { i: $i }) { i } }',
        `{"i":${sent}}`,
      );
      if (isHeld) expect(body, `seed ${seed}`).to.equal(`{"data":{"create_held":{"i":${integer}}}}`);
      else expect(body, `seed ${seed}`).to.contain(`BigInt cannot represent ${sent}"`);
      const { body: found } = await site.get(`{ held(filter: "i = ${sent}", limit: 1) { i } }`);
      expect(found, `seed ${seed}, ${sent}`).to.equal(
        `{"data":{"held":[${isHeld ? `{"i":${integer}}` : ''}]}}`,
      );
    }
  });
});
