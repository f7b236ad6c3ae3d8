import { email } from '../markers.js';
import type { TenantFault } from './tenantFault.js';

const endlessTemplate: TenantFault = {
  name: 'endless template',
  what: 'a loop of ten thousand million rounds',
  special: {
    template: '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}',
    mayFailWith: ['TEMPLATE_FAILED'],
  },
};

const hugeEmail: TenantFault = {
  name: '100 MB email',
  what: 'a template whose output is 100 MB',
  special: {
    template: `{% for i in range(100000) %}${'x'.repeat(1000)}{% endfor %}`,
    mayFailWith: ['TEMPLATE_FAILED', 'EMAIL_TOO_LARGE'],
  },
};

const hugeQuery: TenantFault = {
  name: 'query of a million rows',
  what: 'a query that reads a million rows and sorts them',
  special: {
    tables: `
      create table heap (heap_id int primary key, note text not null);
      insert into heap select i, md5(i::text) from generate_series(1, 1000000) i;`,
    query: '{ heap(ordering: ["note"], limit: 1000) { heap_id note } }',
    mayFailWith: ['STATEMENT_TIMEOUT', 'PERMISSION_DENIED'],
  },
};

/** Kills every worker that is about to send an email of this tenant. */
export const killer: TenantFault = {
  name: 'kills its process',
  what: 'each worker that takes it is killed',
  special: { mayFailWith: ['POISON'] },
  begin({ fleet, strikes }, shop) {
    const deadly = {
      ...email,
      name: `an email of shop ${shop.number}`,
      matches: (request: string) =>
        email.matches(request) && request.includes(`"tenantid":"${shop.tenantid}"`),
    };
    const killAll = async (): Promise<void> => {
      for (;;) {
        const { member, caught } = await fleet.catchAt('worker', deadly, 'request', false);
        strikes.push({
          window: 'poison',
          member: member.name,
          atMs: Date.now(),
          ...email.concerns(caught.request),
          beside: member.inHand(),
        });
        await fleet.kill(member);
      }
    };
    // Ends when there are none left: they have failed.
    killAll().catch(() => undefined);
    return Promise.resolve();
  },
};

export const POISON: readonly TenantFault[] = [endlessTemplate, hugeEmail, hugeQuery];
