/** One change in one place, which takes a fence, a lease, a unique key or a layer away. */
export interface Mutant {
  /** What no longer holds. */
  readonly name: string;
  /**
   * An exported name, or `Class.member`: with the declarations of its file that it uses, wherever the file is. Or the beginning of
   * a statement of the schema.
   */
  readonly within: string;
  /** Occurs there once. A space stands for any white space; a name that may change is `\w+`. */
  readonly pattern: RegExp;
  /** As of `String.replace`. */
  readonly replacement: string;
  /** Of which at least one must fail. */
  readonly tests: readonly string[];
}

const LEDGER = 'test/db/ledger/ledger.test.ts';
const APPEND_ONLY = 'test/db/ledger/appendOnly.test.ts';
const POLL = 'test/db/outbox/pollOutbox.test.ts';
const EMAIL_EVENTS = 'test/api/webhooks/sendgrid.test.ts';
const POLICIES = 'test/graphql/policies.test.ts';
const DATABASE_LAYER = 'test/db/isolation/databaseLayer.test.ts';
const SIGN_IN = 'test/api/oidc/signIn.test.ts';

/** A delivery is sent by one worker at a time, and each send is on record. */
const FENCES: readonly Mutant[] = [
  {
    name: 'a worker sends although its lease is over',
    within: 'ClaimedDeliveries.begin',
    pattern: /return \(\) => [^;]+;/,
    replacement: 'return () => true;',
    tests: ['test/worker/claimedDeliveries.test.ts'],
  },
  {
    name: 'a lease is counted from when PostgreSQL responded',
    within: 'ClaimedDeliveries.begin',
    pattern: /(this\.#\w+\(\w+), \w+, true\)/,
    replacement: '$1, performance.now(), true)',
    tests: ['test/worker/claimedDeliveries.test.ts'],
  },
  {
    name: 'a lease counts as renewed although PostgreSQL refused',
    within: 'ClaimedDeliveries',
    pattern: /(\w+\[\w+\]) === true/,
    replacement: '$1 !== undefined',
    tests: ['test/worker/claimedDeliveries.test.ts'],
  },
  {
    name: 'two workers start the same first attempt',
    within: 'startSending',
    pattern: /where s\.start_id = excluded\.start_id/,
    replacement: '',
    tests: [LEDGER],
  },
  {
    name: 'the key of a start is not unique',
    within: 'create table rowpost.delivery_start',
    pattern: /primary key \(tenantid, deliveryid, createtime\)/,
    replacement: 'primary key (tenantid, deliveryid, createtime, leased_until)',
    tests: [LEDGER, APPEND_ONLY],
  },
  {
    name: 'a later attempt is started by whoever asks',
    within: 'startSending',
    pattern:
      /and \(d\.starts = w\.starts and d\.state in \('pending', 'retrying'\) or d\.starts = w\.starts \+ 1 and d\.state = 'sending' and d\.start_id = w\.start_id\)/,
    replacement: '',
    tests: [LEDGER],
  },
  {
    name: 'a worker with an older copy of the delivery starts',
    within: 'startSending',
    pattern: /\(d\.starts = w\.starts and d\.state in/,
    replacement: '(d.state in',
    tests: [LEDGER],
  },
  {
    name: 'a fenced attempt ends its delivery',
    within: 'finishAttempts',
    pattern: /and d\.starts = w\.starts and/,
    replacement: 'and',
    tests: [LEDGER],
  },
  {
    name: 'an ended delivery is ended again',
    within: 'finishAttempts',
    pattern: /d\.state = 'sending' or \(d\.state = 'retrying' and w\.state = 'sent'\)/,
    replacement: 'true',
    tests: [LEDGER],
  },
  {
    name: 'an attempt that is over renews its lease',
    within: 'extendLeases',
    pattern: /case when w\.sending then d\.state = 'sending' else/,
    replacement: 'case when w.sending then true else',
    tests: [LEDGER],
  },
  {
    name: 'an attempt counts as lost while its lease lasts',
    within: 'endLostAttempts',
    pattern: /where due < now\(\) and state = 'sending'/,
    replacement: "where state = 'sending'",
    tests: [LEDGER],
  },
  {
    name: 'at most once is sent again after its worker was lost',
    within: 'endLostAttempts',
    pattern: /(state = case when d\.delivery = 'at_most_once' then) 'unknown'/,
    replacement: "$1 'retrying'",
    tests: [LEDGER],
  },
  {
    name: 'a worker keeps a delivery whose next attempt another one has begun',
    within: 'extendLeases',
    pattern: /where d\.tracked and d\.starts = w\.starts/,
    replacement: 'where d.tracked',
    tests: [LEDGER],
  },
  {
    name: 'a delivery that is being sent is held as if it waited',
    within: 'extendLeases',
    pattern: /else d\.state in \('pending', 'retrying'\) end/,
    replacement: 'else true end',
    tests: [LEDGER, APPEND_ONLY],
  },
  {
    name: 'the relay queues a delivery whose lease lasts',
    within: 'markQueued',
    pattern: /where d\.due < now\(\) and d\.state in/,
    replacement: 'where d.state in',
    tests: [LEDGER],
  },
  {
    name: 'a delivery is redriven before it has ended',
    within: 'redriveDelivery',
    pattern: /and d\.state in \('sent', 'failed', 'skipped', 'unknown'\)/,
    replacement: '',
    tests: [LEDGER, 'test/commands/redrive.test.ts'],
  },
  {
    name: 'the email of a tenant that moved to another cell is evaluated here as well',
    within: 'CLOSE',
    pattern: /(where \$\{\w+\}) and not \$\{isMovedSql\([^)]*\)\}/,
    replacement: '$1',
    tests: ['test/slow/db/cells/moving/handOver.test.ts'],
  },
  {
    name: 'a tenant is written to while its tables are copied to another cell',
    within: 'withWritesHeld',
    pattern: /in share mode/,
    replacement: 'in access share mode',
    tests: ['test/slow/db/cells/moving/writeHold.test.ts'],
  },
  {
    name: 'a batch is done twice',
    within: 'CLOSE',
    pattern: /(\$\{isMovedSql\([^)]*\)\}) on conflict do nothing/,
    replacement: '$1 on conflict (batchid, createtime) do update set batchid = excluded.batchid',
    tests: [LEDGER],
  },
];

/** Each committed event is found once. */
const CURSOR: readonly Mutant[] = [
  {
    name: 'two relays poll at once',
    within: 'pollOutbox',
    pattern: /rowpost\.try_relay_lock\(\)::text/,
    replacement: "'true'",
    tests: [POLL],
  },
  {
    name: 'a transaction that commits late is passed over',
    within: 'pollOutbox',
    pattern: /where o\.xid = any \(\(select running from last\)::xid8\[\]\)/,
    replacement: 'where false',
    tests: [POLL],
  },
  {
    name: 'the sweep passes over what was recorded by a transaction of long ago',
    within: 'sweep',
    pattern: /where d\.xid = any \(\(select running from \w+\)::xid8\[\]\) and/,
    replacement: 'where false and',
    tests: [APPEND_ONLY],
  },
  {
    name: "a provider's event is recorded each time it is reported",
    within: 'create table rowpost.email_event',
    pattern: /primary key \(tenantid, deliveryid, provider_event_id, createtime\)/,
    replacement:
      'eventno bigint generated always as identity, primary key (tenantid, deliveryid, provider_event_id, createtime, eventno)',
    tests: [EMAIL_EVENTS],
  },
  {
    name: 'an old event puts an address back that was taken off the list',
    within: 'recordEmailEvents',
    pattern: /where s\.removetime < excluded\.createtime/,
    replacement: '',
    tests: [EMAIL_EVENTS, 'test/delivery/suppression.test.ts'],
  },
];

/** The first layer between roles and tenants: what is compiled. */
const FIRST_WALL: readonly Mutant[] = [
  {
    name: 'a rule grants every capability',
    within: 'policyOf',
    pattern: /\w+\.capabilities\.includes\(\w+\) &&/,
    replacement: '',
    tests: [POLICIES],
  },
  {
    name: 'a rule grants every table',
    within: 'policyOf',
    pattern: /\(\w+\.targets\.includes\((\w+)\.name\) \|\| \w+\.targets\.includes\(\w+\.sqlName\)\)/,
    replacement: '$1.name.length > 0',
    tests: [POLICIES],
  },
  {
    name: 'a role needs no capability of its own',
    within: 'policyOf',
    pattern: /if \(!\w+\.capabilities\.includes\(\w+\)\) return 'none';/,
    replacement: '',
    tests: [POLICIES],
  },
  {
    name: 'lists show hidden rows',
    within: 'listJson',
    pattern: /where\(\[(\w+\.condition), \w+, (\w+)\]\)/,
    replacement: 'where([$1, $2])',
    tests: [POLICIES],
  },
  {
    name: 'a to-one relation shows a hidden row',
    within: 'rowJson',
    pattern: /(matches\([^)]*\),) readable\([^)]*\),/,
    replacement: '$1',
    tests: [POLICIES],
  },
  {
    name: 'a join table shows hidden links',
    within: 'rowJson',
    pattern: /condition: \w+ === 'all' \? (\w+) : sql`[^`]*`/,
    replacement: 'condition: $1',
    tests: [POLICIES, 'test/graphql/differentialAccess.test.ts', 'test/graphql/differential.test.ts'],
  },
  {
    name: "a caller's conditions are tried on hidden rows",
    within: 'behindPolicies',
    pattern: /\{ if \((\w+)\.length === 0\)/,
    replacement: '{\n  if ($1.length >= 0)',
    tests: ['test/attack/hiddenRowConditions.test.ts'],
  },
  {
    name: 'a hidden row is updated',
    within: 'updateByKey',
    pattern: /keyWithin\(changeable\([^)]*\), (byKey\([^)]*\))\)/,
    replacement: '$1',
    tests: [POLICIES],
  },
  {
    name: 'a hidden row is deleted',
    within: 'deleteByKey',
    pattern: /keyWithin\(changeable\([^)]*\), (byKey\([^)]*\))\)/,
    replacement: '$1',
    tests: [POLICIES],
  },
  {
    name: 'a row is moved out of what the rule lets through',
    within: 'updateByKey',
    pattern: /check: changeable\([^)]*\)/,
    replacement: "check: 'all'",
    tests: [POLICIES],
  },
  {
    name: 'an upsert changes a hidden row',
    within: 'insertion',
    pattern: /where\(\[allowed, (\w+)\]\)/,
    replacement: 'where([$1])',
    tests: [POLICIES, 'test/graphql/differentialWrites.test.ts'],
  },
  {
    name: 'a reference tells of a hidden row',
    within: 'withReferences',
    pattern: /if \((\w+) === 'all' \|\| \w+ === 'none'\) return/,
    replacement: 'if ($1 !== undefined) return',
    tests: ['test/attack/hiddenReferences.test.ts'],
  },
  {
    name: 'control objects of another tenant are listed',
    within: 'ofOwnTenant',
    pattern: /\.tenantid = (\$\{constant\([^)]*\)\})/,
    replacement: '.tenantid >= least(0, $1)',
    tests: ['test/control/authorizationMatrix.test.ts', 'test/control/roleEscalation.test.ts'],
  },
  {
    name: "an event is recorded against another tenant's delivery",
    within: 'recordEmailEvents',
    pattern: /where tenantid = \$1::int and deliveryid = g\.deliveryid limit 1/,
    replacement: 'where deliveryid = g.deliveryid limit 1',
    tests: [EMAIL_EVENTS],
  },
];

/** The second layer between tenants: PostgreSQL's. */
const SECOND_WALL: readonly Mutant[] = [
  {
    name: "a transaction does not enter the tenant's role",
    within: 'openingStatements',
    pattern: /return (\w+) \? (\w+) : \[/,
    replacement: 'if ($2.length > 0) return [];\n  return $1 ? $2 : [',
    tests: [DATABASE_LAYER, 'test/graphql/reads.test.ts'],
  },
  {
    name: 'a session goes from one tenant to the next as it is',
    within: 'openingStatements',
    pattern: /\[\{ statement: \w+, values: \[\] \}, \.\.\.(\w+)\];/,
    replacement: '$1;',
    tests: [DATABASE_LAYER, 'test/attack/tenantCode.test.ts', 'test/attack/tenantCodeWays.test.ts'],
  },
  {
    name: 'tenants read the events of all',
    within: 'grant insert on rowpost_tenant.event',
    pattern: /grant insert/,
    replacement: 'grant select, insert',
    tests: [DATABASE_LAYER, 'test/attack/tenantCode.test.ts'],
  },
  {
    name: 'tenants name the tenant of their events',
    within: 'create view rowpost_tenant.event',
    pattern: /select roleid, operation, target, key, old, new from/,
    replacement: 'select roleid, operation, target, key, old, new, tenantid from',
    tests: [DATABASE_LAYER, 'test/attack/tenantCode.test.ts'],
  },
];

/** Who is let in. */
const SIGN_INS: readonly Mutant[] = [
  {
    name: 'a state of a sign-in is good more than once',
    within: 'takeOidcSignIn',
    pattern: /delete from rowpost\.oidc_sign_in where/,
    replacement: 'update rowpost.oidc_sign_in set tenantid = tenantid where',
    tests: [SIGN_IN],
  },
  {
    name: 'an expired state is good',
    within: 'takeOidcSignIn',
    pattern: /return (\w+) && !\w+\.expired \? \w+ : undefined;/,
    replacement: 'return $1;',
    tests: [SIGN_IN],
  },
  {
    name: 'a sign-in is finished by another browser',
    within: 'takeOidcSignIn',
    pattern: /and browser_hash = \$2/,
    replacement: 'and (browser_hash = $2 or true)',
    tests: [SIGN_IN],
  },
  {
    name: 'a code comes back at any redirect URI',
    within: 'takeSignIn',
    pattern: /if \((\w+)\?\.redirect_uri !== \w+\.path\)/,
    replacement: 'if (!$1)',
    tests: ['test/attack/mixedUpProviders.test.ts'],
  },
  {
    name: 'an ID token of another sign-in is good',
    within: 'verifyIdToken',
    pattern: /if \(\w+\['nonce'\] !== \w+\) throw [^;]+;/,
    replacement: '',
    tests: ['test/api/oidc/misbehaving.test.ts'],
  },
  {
    name: 'a refresh token opens what an access token opens',
    within: 'Authenticator',
    pattern: /if \((\w+ !== undefined && \w+)\.type !== (\w+)\) \{/,
    replacement: 'if ($1.type !== $2 && $1.tenantid < 0) {',
    tests: ['test/api/auth/auth.test.ts', 'test/api/auth/tokens.test.ts'],
  },
  {
    name: 'a token outlives a changed password',
    within: 'findHolder',
    pattern: / \|\| \w+ < \w+\.tokensValidFromMs/,
    replacement: '',
    tests: ['test/api/auth/auth.test.ts', 'test/api/auth/tokens.test.ts', 'test/control/roles.test.ts'],
  },
  {
    name: 'an access token outlives its session',
    within: 'findHolder',
    pattern: /sessionid !== undefined &&/,
    replacement: 'false &&',
    tests: ['test/api/auth/sessions.test.ts'],
  },
  {
    name: 'a token outlives its API key',
    within: 'findHolder',
    pattern: /keyid !== undefined &&/,
    replacement: 'false &&',
    tests: ['test/api/auth/apiKeys.test.ts'],
  },
  {
    name: 'an API key outlives a new password of its role',
    within: 'Authenticator.#byKey',
    pattern: /key\.stateMs >= principal\.tokensValidFromMs &&/,
    replacement: '',
    tests: ['test/api/auth/apiKeys.test.ts'],
  },
  {
    name: 'a logout token counts again',
    within: 'recordLogout',
    pattern: /return \w+\.some\([^;]+\);/,
    replacement: 'return true;',
    tests: ['test/attack/logoutTokens.test.ts'],
  },
  {
    name: 'a sign-in is completed after its logout',
    within: 'endIfLoggedOut',
    pattern: /return \w+ !== 0/,
    replacement: 'return false',
    tests: ['test/attack/logoutTokens.test.ts'],
  },
  {
    name: 'a refresh token outlives its session',
    within: 'renewSession',
    pattern: / and \$\{IS_OPEN\}/,
    replacement: '',
    tests: ['test/api/auth/sessions.test.ts'],
  },
  {
    name: 'a remembered token does not expire',
    within: 'Tokens.verify',
    pattern: /(= (\w+) \?\? [^]+if \()(\w+\.expiresAtMs <= \w+)/,
    replacement: '$1!$2 && $3',
    tests: ['test/api/auth/tokens.test.ts'],
  },
  {
    name: 'two roles have one login',
    within: 'create unique index role_login_folded',
    pattern: /create unique index/,
    replacement: 'create index',
    tests: ['test/attack/takenOverRoles.test.ts'],
  },
  {
    name: 'the address of a file does not expire',
    within: 'readLink',
    pattern: /if \((\w+ >= (\w+) \* 1000)\)/,
    replacement: 'if ($1 && $2 < 0)',
    tests: ['test/files/badUploads.test.ts', 'test/files/downloads.test.ts'],
  },
];

/**
 * Of these, one survives: "a session goes from one tenant to the next as it is". The tests leave nothing in a session that
 * the next tenant could see.
 */
export const MUTANTS: readonly Mutant[] = [...FENCES, ...CURSOR, ...FIRST_WALL, ...SECOND_WALL, ...SIGN_INS];
