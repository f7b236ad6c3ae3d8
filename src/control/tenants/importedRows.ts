import type { TransactionClient } from '../../db/pool/inTransaction.js';
import { WEBHOOK_KINDS } from '../email/carrierWebhook.js';
import { readInChunks } from '../../db/cells/moving/readInChunks.js';
import { ANONYMOUS_LOGIN } from '../../db/roles/principal.js';
import { identifier, sql, statement } from '../../db/sql/sql.js';
import { ownValue } from '../../foundation/ownValue.js';
import { UsageError } from '../../foundation/errors.js';
import { sanitizeFileName } from '../../files/fileName.js';
import { isPlainType } from '../../files/fileType.js';
import { isObjectkeyOf } from '../../files/storage/fileStorage.js';
import type { Config } from '../../config/config.js';
import type { ControlContext } from '../controlContext.js';
import { EMAIL_RULE_QUOTA } from '../email/checkEmailRule.js';
import type { Column } from '../derive/declaration.js';
import { readValue } from '../derive/readValues.js';
import {
  requireKnownCapabilities,
  requireKnownClasses,
  requireUsableProvider,
} from '../derive/references.js';
import { requireAllFit } from '../derive/ruleQuota.js';
import { OBJECTS } from '../objects/index.js';
import { POLICY_RULE_QUOTA } from '../objects/policyRule.js';
import { checkOidcUri } from '../oidc/checkOidcUri.js';
import { isPasswordHash } from '../roles/passwords.js';
import { requireStorableLogin } from '../roles/rolePermissions.js';
import { checkPasswordSender } from './passwordSender.js';
import { readBrand } from './signInBrand.js';
import { MOVING_TABLES } from './tenantTables.js';

export type ImportRules = Pick<Config, 'bodyLimitBytes' | 'production' | 'oidcAllowPrivateNetwork'>;

/** A stored row, as JSON. */
type Row = Readonly<Record<string, unknown>>;

/**
 * Checks what was stored for a tenant by the code that checks it when clients create it. That templates, filters and conditions
 * name existing tables is not checked: they may have been dropped since. Throws UsageError.
 */
export async function checkImportedRows(
  client: TransactionClient,
  tenantid: number,
  rules: ImportRules,
): Promise<void> {
  // What the columns' own checks need of a request.
  const context = { db: client, principal: { tenantid } } as unknown as ControlContext;
  for (const { table } of MOVING_TABLES) {
    const checks = [columnsCheck(table, context, rules), ownValue(CHECKS, table)].filter(
      (check) => check !== undefined,
    );
    if (checks.length === 0) continue;
    const select = sql`select row_to_json(t)::text as row from ${identifier('rowpost', table)} t where tenantid = $1`;
    await readInChunks(client, select, [tenantid], (rows) => {
      for (const text of rows) {
        const row = JSON.parse(text) as Row;
        inTable(table, () => {
          for (const check of checks) check(row, rules);
        });
      }
      return Promise.resolve();
    });
  }
  await checkReferences(context);
}

type Check = (row: Row, rules: ImportRules) => void;

/** Their columns are written by code of their own, not by their declarations, so each has a check of its own below. */
const WITH_OWN_CODE = new Set(['tenant', 'role']);

function columnsCheck(
  table: string,
  context: ControlContext,
  { bodyLimitBytes }: ImportRules,
): Check | undefined {
  const object = OBJECTS.find((each) => each.table === table && !WITH_OWN_CODE.has(each.table));
  if (!object) return undefined;
  const columns = Object.entries(object.columns).filter(
    ([, { input, inputOnly, derived, secret }]) => input !== undefined && !inputOnly && !derived && !secret,
  );
  return (row) => {
    // Addresses that providers reported are stored as they are.
    if (row['source'] !== undefined && row['source'] !== 'manual') return;
    for (const [name, column] of columns) {
      const value = ownValue(row, name);
      // As JSON, a text may take twice its bytes.
      if (JSON.stringify(value ?? null).length > 2 * bodyLimitBytes) throw new Error(`${name} is too large.`);
      readValue(column, asGiven(column, value), name, context);
    }
  };
}

/** A single template that renders to a list is stored as a text. */
function asGiven({ type }: Column, value: unknown): unknown {
  return type === 'jsonb' && typeof value === 'string' ? [value] : value;
}

const CHECKS: Readonly<Record<string, Check>> = {
  tenant: ({ policy_version: version }) => {
    if (!Number.isSafeInteger(version)) throw new Error('policy_version is too large.');
  },
  sign_in_brand: (row) => readBrand(row),
  password_sender: ({ sender }) => checkPasswordSender(sender as string),
  role({ login, password_hash: hash }) {
    if (login !== ANONYMOUS_LOGIN) requireStorableLogin(login as string | null);
    if (login === ANONYMOUS_LOGIN && hash !== null) throw new Error('Anonymous clients have no password.');
    if (hash !== null && !isPasswordHash(hash as string))
      throw new Error('password_hash has an unknown form.');
  },
  oidc_providers(row, rules) {
    for (const field of ['auth_uri', 'token_uri', 'jwks_uri'] as const) {
      checkOidcUri(row[field] as string, field, rules);
    }
    for (const field of ['end_session_uri', 'discovered_end_session_uri'] as const) {
      if (row[field]) checkOidcUri(row[field] as string, field, rules);
    }
  },
  carrier_webhook({ kind }) {
    if (!WEBHOOK_KINDS.includes(kind as string)) throw new Error(`kind "${String(kind)}" is unknown.`);
  },
  file({ tenantid, objectkey, filename, mimetype }) {
    if (!isObjectkeyOf(tenantid as number, objectkey as string))
      throw new Error(`objectkey "${String(objectkey)}" is not one of the tenant's.`);
    if (sanitizeFileName(filename as string) !== filename) throw new Error('filename is not a plain name.');
    if (!isPlainType(mimetype as string)) throw new Error('mimetype is not a type.');
  },
};

/** Adds the table to the error that a check throws. */
function inTable(table: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new UsageError(
      `the export has a row of ${table} that can't be stored: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** That nothing leads to another tenant's. PostgreSQL's foreign keys hold what is not in lists. */
async function checkReferences(context: ControlContext): Promise<void> {
  const { db, principal } = context;
  const { rows } = await db.query<References>(REFERENCES, [principal.tenantid]);
  const [{ capabilities, classes, providers, strayRoles, strayRuleRoles } = NONE] = rows;
  try {
    if (strayRoles !== null) throw new Error(`role ${strayRoles} is not below the root role.`);
    if (strayRuleRoles !== null) throw new Error(`The tenant has no role ${strayRuleRoles}.`);
    await requireKnownCapabilities(context, capabilities);
    await requireKnownClasses(context, classes);
    for (const providerid of providers) await requireUsableProvider(context, providerid);
    await requireAllFit(context, POLICY_RULE_QUOTA);
    await requireAllFit(context, EMAIL_RULE_QUOTA);
  } catch (error) {
    throw new UsageError(
      `the export can't be stored: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

interface References {
  readonly capabilities: readonly string[];
  readonly classes: readonly number[];
  readonly providers: readonly number[];
  /** A role that no path leads to from the root role. */
  readonly strayRoles: number | null;
  /** A role that a policy rule names, and the tenant has not. */
  readonly strayRuleRoles: number | null;
}
const NONE: References = {
  capabilities: [],
  classes: [],
  providers: [],
  strayRoles: null,
  strayRuleRoles: null,
};

const REFERENCES = statement`
  with recursive tree(roleid) as (
    select root_roleid from rowpost.tenant where tenantid = $1
    union
    select r.roleid from rowpost.role r join tree on r.parentid = tree.roleid where r.tenantid = $1
  ), role as (select * from rowpost.role where tenantid = $1), rule as (select * from rowpost.policy_rule where tenantid = $1),
    made as (select * from rowpost.oidc_provisioning where tenantid = $1)
  select
    array(select unnest(capabilities) from role union select unnest(capabilities) from rule
      union select unnest(capabilities) from made) as capabilities,
    array(select unnest(classes) from role union select unnest(classes) from rule
      union select unnest(classes) from made) as classes,
    array(select providerid from rowpost.oidc_config where tenantid = $1) as providers,
    (select min(roleid) from role where roleid not in (select roleid from tree where roleid is not null)) as "strayRoles",
    (select min(named) from rule, unnest(roles) named where named not in (select roleid from role)) as "strayRuleRoles"`;
