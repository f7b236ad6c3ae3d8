import { expect } from 'chai';
import { openSettingsFixture, type SettingsFixture } from '../../../db/capture/settingsFixture.js';

describe('every setting that a writer may have', () => {
  let fixture: SettingsFixture;
  before(async () => (fixture = await openSettingsFixture()));
  after(() => fixture.close());

  it('neither fails a write nor changes an event', async () => {
    const { rows } = await fixture.client.query<[string, string[]]>({
      rowMode: 'array',
      text: `select name, case vartype when 'bool' then '{on,off}' when 'enum' then enumvals else array[min_val, max_val] end
        from pg_settings where context = 'user' and vartype <> 'string' and name not like '%timeout' order by name`,
    });
    expect(await fixture.check(rows)).to.be.greaterThan(200);
  });
});
