/** One change to one file, which takes a fence, a lease, a unique key or a wall away. */
export interface Mutant {
  /** What no longer holds. */
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Of which at least one must fail. */
  readonly tests: readonly string[];
}

const LEDGER = 'test/db/ledger/ledger.test.ts';
const APPEND_ONLY = 'test/db/ledger/appendOnly.test.ts';
const TICK = 'test/db/outbox/tick.test.ts';
const MAIL_EVENTS = 'test/api/webhooks/sendgrid.test.ts';
const POLICIES = 'test/graphql/policies.test.ts';
const WALL_TWO = 'test/db/isolation/wallTwo.test.ts';
const SIGN_IN = 'test/api/oidc/signIn.test.ts';

/** A delivery is sent by one worker at a time, and each send is on record. */
const FENCES: readonly Mutant[] = [
  {
    name: 'a worker sends although its lease is over',
    file: 'src/worker/claimedDeliveries.ts',
    find: 'return () => performance.now() < claim.untilMs;',
    replace: 'return () => true;',
    tests: ['test/worker/claimedDeliveries.test.ts'],
  },
  {
    name: 'a lease is counted from when PostgreSQL answered',
    file: 'src/worker/claimedDeliveries.ts',
    find: 'this.#extend(claim, askedAtMs, true);',
    replace: 'this.#extend(claim, performance.now(), true);',
    tests: ['test/worker/claimedDeliveries.test.ts'],
  },
  {
    name: 'a lease counts as renewed although PostgreSQL refused',
    file: 'src/worker/claimedDeliveries.ts',
    find: 'extended[index] === true',
    replace: 'extended[index] !== undefined',
    tests: ['test/worker/claimedDeliveries.test.ts'],
  },
  {
    name: 'two workers start the same first attempt',
    file: 'src/db/ledger/startSending.ts',
    find: 'from open w\n      on conflict do nothing',
    replace:
      'from open w\n      on conflict (tenantid, deliveryid, createtime) do update set subject = excluded.subject',
    tests: [LEDGER],
  },
  {
    name: 'the key of a start is not unique',
    file: 'migrations/schema/65_deliveries.sql',
    find: 'primary key (tenantid, deliveryid, createtime)\n) partition by range (createtime);\ncreate table rowpost.delivery_start_default',
    replace:
      'primary key (tenantid, deliveryid, createtime, leased_until)\n) partition by range (createtime);\ncreate table rowpost.delivery_start_default',
    tests: [LEDGER, APPEND_ONLY],
  },
  {
    name: 'a later attempt is started by whoever asks',
    file: 'src/db/ledger/startSending.ts',
    find: "and d.tracked and d.starts = w.starts and d.state in ('pending', 'retrying')",
    replace: 'and d.tracked',
    tests: [LEDGER],
  },
  {
    name: 'a worker with an older copy of the delivery starts',
    file: 'src/db/ledger/startSending.ts',
    find: 'and d.tracked and d.starts = w.starts and',
    replace: 'and d.tracked and',
    tests: [LEDGER],
  },
  {
    name: 'a fenced attempt ends its delivery',
    file: 'src/db/ledger/finishAttempts.ts',
    find: 'and d.starts = w.starts\n',
    replace: '\n',
    tests: [LEDGER],
  },
  {
    name: 'an ended delivery is ended again',
    file: 'src/db/ledger/finishAttempts.ts',
    find: "d.state = 'sending' or (d.state = 'retrying' and w.state = 'sent')",
    replace: 'true',
    tests: [LEDGER],
  },
  {
    name: 'an attempt that is over renews its lease',
    file: 'src/db/ledger/leases.ts',
    find: "case when w.sending then d.state = 'sending' else",
    replace: 'case when w.sending then true else',
    tests: [LEDGER],
  },
  {
    name: 'an attempt counts as lost while its lease lasts',
    file: 'src/db/ledger/leases.ts',
    find: "where due < now() and state = 'sending'",
    replace: "where state = 'sending'",
    tests: [LEDGER],
  },
  {
    name: 'at most once is sent again after its worker was lost',
    file: 'src/db/ledger/leases.ts',
    find: "set attempts = d.attempts + 1, lost = d.lost + 1,\n        state = case when d.delivery = 'at_most_once' then 'unknown'",
    replace:
      "set attempts = d.attempts + 1, lost = d.lost + 1,\n        state = case when d.delivery = 'at_most_once' then 'retrying'",
    tests: [LEDGER],
  },
  {
    name: 'a worker keeps a delivery whose next attempt another one has begun',
    file: 'src/db/ledger/leases.ts',
    find: 'where d.tracked and d.starts = w.starts\n',
    replace: 'where d.tracked\n',
    tests: [LEDGER],
  },
  {
    name: 'a delivery that is being sent is held as if it waited',
    file: 'src/db/ledger/leases.ts',
    find: "else d.state in ('pending', 'retrying') end\n      order by",
    replace: 'else true end\n      order by',
    tests: [LEDGER, APPEND_ONLY],
  },
  {
    name: 'the relay queues a delivery whose lease lasts',
    file: 'src/db/ledger/dueDeliveries.ts',
    find: "where d.due < now() and d.state in ('pending', 'retrying')",
    replace: "where d.state in ('pending', 'retrying')",
    tests: [LEDGER],
  },
  {
    name: 'a delivery is redriven before it has ended',
    file: 'src/db/ledger/redrive.ts',
    find: "and d.state in ('sent', 'failed', 'skipped', 'unknown')",
    replace: '',
    tests: [LEDGER, 'test/commands/redrive.test.ts'],
  },
  {
    name: 'the mail of a tenant that moved to another cell is evaluated here as well',
    file: 'src/db/ledger/closeBatchSql.ts',
    find: 'where ${mayClose} and not ${isHandedOverSql(sql`tenantid`)}',
    replace: 'where ${mayClose}',
    tests: ['test/db/cells/moving/handOver.test.ts'],
  },
  {
    name: 'a batch is done twice',
    file: 'src/db/ledger/closeBatchSql.ts',
    find: 'isHandedOverSql(sql`tenantid`)}\n      on conflict do nothing',
    replace:
      'isHandedOverSql(sql`tenantid`)}\n      on conflict (batchid, createtime) do update set batchid = excluded.batchid',
    tests: [LEDGER],
  },
];

/** Each committed event is found once. */
const CURSOR: readonly Mutant[] = [
  {
    name: 'two relays tick at once',
    file: 'src/db/outbox/tick.ts',
    find: 'rowpost.try_relay_lock()::text',
    replace: "'true'",
    tests: [TICK],
  },
  {
    name: 'a transaction that commits late is passed over',
    file: 'src/db/outbox/tick.ts',
    find: 'where o.xid = any ((select running from last)::xid8[])',
    replace: 'where false',
    tests: [TICK],
  },
  {
    name: 'the sweep passes over what was recorded by a transaction of long ago',
    file: 'src/db/ledger/sweep.ts',
    find: 'where d.xid = any ((select running from window_)::xid8[]) and',
    replace: 'where false and',
    tests: [APPEND_ONLY],
  },
  {
    name: "a provider's event is recorded each time it is reported",
    file: 'migrations/schema/65_deliveries.sql',
    find: 'primary key (tenantid, deliveryid, provider_event_id, createtime)',
    replace:
      'eventno bigint generated always as identity, primary key (tenantid, deliveryid, provider_event_id, createtime, eventno)',
    tests: [MAIL_EVENTS],
  },
  {
    name: 'an old event puts an address back that was taken off the list',
    file: 'src/db/email/mailEvents.ts',
    find: 'where s.removetime < excluded.createtime',
    replace: '',
    tests: [MAIL_EVENTS, 'test/delivery/suppression.test.ts'],
  },
];

/** The first wall between roles and tenants: what is compiled. */
const FIRST_WALL: readonly Mutant[] = [
  {
    name: 'a rule grants every capability',
    file: 'src/graphql/policy/policy.ts',
    find: 'rule.capabilities.includes(capability) &&',
    replace: '',
    tests: [POLICIES],
  },
  {
    name: 'a rule grants every table',
    file: 'src/graphql/policy/policy.ts',
    find: '(rule.targets.includes(table.name) || rule.targets.includes(table.sqlName))',
    replace: 'table.name.length > 0',
    tests: [POLICIES],
  },
  {
    name: 'a role needs no capability of its own',
    file: 'src/graphql/policy/policy.ts',
    find: "if (!principal.capabilities.includes(capability)) return 'none';",
    replace: '',
    tests: [POLICIES],
  },
  {
    name: 'lists show hidden rows',
    file: 'src/graphql/read/rowsSql.ts',
    find: 'const condition = where([rows.condition, visible, filter]);',
    replace: 'const condition = where([rows.condition, filter]);',
    tests: [POLICIES],
  },
  {
    name: 'a to-one relation shows a hidden row',
    file: 'src/graphql/read/rowsSql.ts',
    find: '      readable(context, selection.table, alias),\n',
    replace: '',
    tests: [POLICIES],
  },
  {
    name: 'a join table shows hidden links',
    file: 'src/graphql/read/rowsSql.ts',
    find: "condition: visible === 'all' ? near : sql`${near} and ${visible}`,",
    replace: 'condition: near,',
    tests: [POLICIES, 'test/graphql/differentialAccess.test.ts', 'test/graphql/differential.test.ts'],
  },
  {
    name: "a caller's conditions are tried on hidden rows",
    file: 'src/graphql/filter/rows/securityBarrier.ts',
    find: 'if (policies.length === 0) return conjunction(conditions);',
    replace: 'if (policies.length >= 0) return conjunction(conditions);',
    tests: ['test/attack/hiddenRowConditions.test.ts'],
  },
  {
    name: 'a hidden row is updated',
    file: 'src/graphql/write/changeSql.ts',
    find: "where([keyWithin(changeable(context, 'update', table, t), byKey(table, t, keyOf))])",
    replace: 'where([byKey(table, t, keyOf)])',
    tests: [POLICIES],
  },
  {
    name: 'a hidden row is deleted',
    file: 'src/graphql/write/changeSql.ts',
    find: "where([keyWithin(changeable(context, 'delete', table, t), byKey(table, t, keyOf))])",
    replace: 'where([byKey(table, t, keyOf)])',
    tests: [POLICIES],
  },
  {
    name: 'a row is moved out of what the rule lets through',
    file: 'src/graphql/write/changeSql.ts',
    find: "check: changeable(context, 'update', table, changed),",
    replace: "check: 'all',",
    tests: [POLICIES],
  },
  {
    name: 'an upsert changes a hidden row',
    file: 'src/graphql/write/insertSql.ts',
    find: "where([changeable(context, 'update', table, target), noted])",
    replace: 'where([noted])',
    tests: [POLICIES, 'test/graphql/differentialWrites.test.ts'],
  },
  {
    name: 'a reference tells of a hidden row',
    file: 'src/graphql/write/references.ts',
    find: "if (visible === 'all' || visible === 'none') return inner;",
    replace: 'if (visible !== undefined) return inner;',
    tests: ['test/attack/hiddenReferences.test.ts'],
  },
  {
    name: 'control objects of another tenant are listed',
    file: 'src/control/object/visibility.ts',
    find: "sql`${row}.tenantid = ${constant(tenantid, 'int4')}`",
    replace: "sql`${row}.tenantid >= least(0, ${constant(tenantid, 'int4')})`",
    tests: ['test/control/authorizationMatrix.test.ts', 'test/control/roleWalls.test.ts'],
  },
  {
    name: "an event is recorded against another tenant's delivery",
    file: 'src/db/email/mailEvents.ts',
    find: 'where tenantid = $1::int and deliveryid = g.deliveryid limit 1',
    replace: 'where deliveryid = g.deliveryid limit 1',
    tests: [MAIL_EVENTS],
  },
];

/** The second wall between tenants: PostgreSQL's. */
const SECOND_WALL: readonly Mutant[] = [
  {
    name: "a transaction does not enter the tenant's role",
    file: 'src/db/pool/openingStatements.ts',
    find: 'return isClean ? entering :',
    replace: 'if (entering.length > 0) return [];\n  return isClean ? entering :',
    tests: [WALL_TWO, 'test/graphql/reads.test.ts'],
  },
  {
    name: 'a session goes from one tenant to the next as it is',
    file: 'src/db/pool/openingStatements.ts',
    find: '[{ statement: CLEAN, values: [] }, ...entering]',
    replace: 'entering',
    tests: [WALL_TWO, 'test/attack/tenantCode.test.ts', 'test/attack/tenantCodeWays.test.ts'],
  },
  {
    name: 'tenants read the events of all',
    file: 'migrations/schema/50_outbox.sql',
    find: 'grant insert on rowpost_tenant.event to public;',
    replace: 'grant select, insert on rowpost_tenant.event to public;',
    tests: [WALL_TWO, 'test/attack/tenantCode.test.ts'],
  },
  {
    name: 'tenants name the tenant of their events',
    file: 'migrations/schema/50_outbox.sql',
    find: 'select roleid, operation, target, key, old, new from rowpost.outbox',
    replace: 'select roleid, operation, target, key, old, new, tenantid from rowpost.outbox',
    tests: [WALL_TWO, 'test/attack/tenantCode.test.ts'],
  },
];

/** Who is let in. */
const SIGN_INS: readonly Mutant[] = [
  {
    name: 'a state of a sign-in is good more than once',
    file: 'src/db/roles/signIn/oidcSignIns.ts',
    find: '`delete from rowpost.oidc_sign_in where state_hash = ? and',
    replace: '`update rowpost.oidc_sign_in set tenantid = tenantid where state_hash = ? and',
    tests: [SIGN_IN],
  },
  {
    name: 'an expired state is good',
    file: 'src/db/roles/signIn/oidcSignIns.ts',
    find: 'return row && !row.expired ? row : undefined;',
    replace: 'return row;',
    tests: [SIGN_IN],
  },
  {
    name: 'a sign-in is finished by another browser',
    file: 'src/db/roles/signIn/oidcSignIns.ts',
    find: 'where state_hash = ? and browser_hash = ?',
    replace: 'where state_hash = ? and (browser_hash = ? or true)',
    tests: [SIGN_IN],
  },
  {
    name: 'a code comes back at any redirect URI',
    file: 'src/api/oidc/handleCallback.ts',
    find: 'if (signIn?.redirect_uri !== req.path)',
    replace: 'if (!signIn)',
    tests: ['test/attack/mixedUpProviders.test.ts'],
  },
  {
    name: 'an ID token of another sign-in is good',
    file: 'src/api/oidc/verifyIdToken.ts',
    find: "if (claims['nonce'] !== nonce) throw invalid('nonce');",
    replace: '',
    tests: ['test/api/oidc/misbehaving.test.ts'],
  },
  {
    name: 'a refresh token opens what an access token opens',
    file: 'src/api/auth/authenticate.ts',
    find: 'if (claims.type !== type) {',
    replace: 'if (claims.type !== type && claims.tenantid < 0) {',
    tests: ['test/api/auth/auth.test.ts', 'test/api/auth/tokens.test.ts'],
  },
  {
    name: 'a token outlives a changed password',
    file: 'src/api/auth/credential.ts',
    find: 'principal && tokensValidFromMs >= principal.tokensValidFromMs ?',
    replace: 'principal && tokensValidFromMs ?',
    tests: ['test/api/auth/auth.test.ts', 'test/api/auth/tokens.test.ts', 'test/control/roles.test.ts'],
  },
  {
    name: 'a remembered token does not expire',
    file: 'src/api/auth/tokens.ts',
    find: 'if (claims.expiresAtMs <= now) {',
    replace: 'if (!known && claims.expiresAtMs <= now) {',
    tests: ['test/api/auth/tokens.test.ts'],
  },
  {
    name: 'two roles have one login',
    file: 'migrations/schema/20_roles.sql',
    find: 'create unique index role_login_folded',
    replace: 'create index role_login_folded',
    tests: ['test/attack/takenOverRoles.test.ts'],
  },
  {
    name: 'the address of a file does not expire',
    file: 'src/files/fileLinks.ts',
    find: 'if (nowMs >= expires * 1000)',
    replace: 'if (nowMs >= expires * 1000 && expires < 0)',
    tests: ['test/files/badUploads.test.ts', 'test/files/downloads.test.ts'],
  },
];

/**
 * Of these, one survives: "a session goes from one tenant to the next as it is". The tests leave nothing in a session that
 * the next tenant could see.
 */
export const MUTANTS: readonly Mutant[] = [...FENCES, ...CURSOR, ...FIRST_WALL, ...SECOND_WALL, ...SIGN_INS];
