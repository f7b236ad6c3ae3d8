import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Pool } from 'pg';
import { Provisioner, type ProvisionerDeps } from '../../src/control/oidc/provisioner.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';

describe('attack: many roles of a tenant with a megabyte of rules each', () => {
  it('take at most two connections of the service at once, and leave the others to other tenants', async () => {
    let running = 0;
    let most = 0;
    const query = async (_sql: string, [tenantid, roleid]: readonly number[]): Promise<unknown> => {
      if (tenantid === 1) most = Math.max(most, (running += 1));
      await delay(5);
      if (tenantid === 1) running -= 1;
      return { rows: [{ tenantid, roleid, capabilities: [], isMoved: false }] };
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

  it('do so also when they sign in through an identity provider that makes roles', async () => {
    let running = 0;
    let most = 0;
    const query = async (sql: string): Promise<unknown> => {
      // One row each, by an index.
      if (/m\.sub_id|oidc_providers/.test(sql)) return { rows: [{ roleid: 7, deleted: false }] };
      most = Math.max(most, (running += 1));
      await delay(5);
      running -= 1;
      return { rows: [{ capabilities: [], classes: [], is_moved: false }] };
    };
    const provisioner = new Provisioner({
      config: { poolTimeoutMs: 10_000 },
      database: { pool: { query } },
    } as unknown as ProvisionerDeps);
    const provisioning = { parentid: 1, email_domains: [], required_claim: null, groups_claim: 'groups' };
    const registration = { provisioning } as unknown as Parameters<Provisioner['admit']>[0];
    const identity = {
      tenantid: 1,
      confid: 2,
      providerid: 3,
      isAddress: false,
      emailAlwaysVerified: false,
      readMore: () => Promise.resolve(undefined),
    };
    const signIns = Array.from({ length: 20 }, (_, person) =>
      provisioner.admit(
        registration,
        { ...identity, subId: `${person}`, claims: { groups: ['staff'] } },
        undefined,
      ),
    );
    expect((await Promise.all(signIns)).map(({ roleid }) => roleid)).to.deep.equal(signIns.map(() => 7));
    expect(most).to.equal(2);
  });
});
