import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Pool } from 'pg';
import { PrincipalSource } from '../../src/db/roles/principal.js';

describe('attack: many roles of a tenant with a megabyte of rules each', () => {
  it('take at most two connections of the service at once, and leave the others to other tenants', async () => {
    let running = 0;
    let most = 0;
    const query = async (_sql: string, [tenantid]: readonly number[]): Promise<unknown> => {
      if (tenantid === 1) most = Math.max(most, (running += 1));
      await delay(5);
      if (tenantid === 1) running -= 1;
      return { rows: [{ capabilities: [], is_moved: false }] };
    };
    const principals = new PrincipalSource({ query } as unknown as Pool);
    const roleids = Array.from({ length: 20 }, (_, roleid) => roleid);
    const loads = roleids.map((roleid) => principals.load(1, roleid));
    expect(await principals.load(2, 1)).to.include({ tenantid: 2 });
    expect(running, "before the first tenant's are done").to.equal(2);
    const loaded = await Promise.all(loads);
    expect(loaded.map((principal) => principal?.roleid)).to.deep.equal(roleids);
    expect(most).to.equal(2);
  });
});
