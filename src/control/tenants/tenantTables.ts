import { sql, type Sql } from '../../db/sql/sql.js';

/** A table of the schema `rowpost` with tenants' rows. */
interface TenantTable {
  readonly table: string;
  /** Selects the rows of tenant `$1` as `row`, referenced rows first. Default: all rows with its id. */
  readonly rows?: Sql;
  /** Where the other installation has what tenants share. Default: `rows`. */
  readonly ownRows?: Sql;
}

/** What moves with a tenant: its settings, roles and file records. Referenced tables come first. */
export const MOVING_TABLES: readonly TenantTable[] = [
  { table: 'tenant' },
  { table: 'sign_in_brand' },
  { table: 'password_sender' },
  { table: 'role_class' },
  {
    table: 'role',
    rows: sql`
      with recursive tree as (
        select roleid, 0 as depth from rowpost.role where tenantid = $1 and parentid is null
        union
        select r.roleid, tree.depth + 1 from rowpost.role r join tree on r.parentid = tree.roleid
      ) select row_to_json(t)::text as row from rowpost.role t join tree using (roleid) order by tree.depth`,
  },
  { table: 'policy_rule' },
  {
    // Shared providers that the tenant uses become its own.
    table: 'oidc_providers',
    rows: sql`
      select (to_jsonb(t) || jsonb_build_object('tenantid', $1::int))::text as row from rowpost.oidc_providers t
      where t.tenantid = $1 or t.providerid in (select c.providerid from rowpost.oidc_config c where c.tenantid = $1)`,
    ownRows: sql`select row_to_json(t)::text as row from rowpost.oidc_providers t where t.tenantid = $1`,
  },
  { table: 'oidc_config' },
  { table: 'oidc_key' },
  { table: 'oidc_provisioning' },
  { table: 'oidc_group_class' },
  { table: 'role_oidc' },
  { table: 'role_oidc_class' },
  { table: 'ended_session' },
  {
    // Without the ID token, which only its own installation decrypts: the provider then asks before it signs out.
    table: 'session',
    rows: sql`
      select (to_jsonb(t) - 'id_token_encrypted')::text as row from rowpost.session t where t.tenantid = $1`,
  },
  { table: 'api_key' },
  { table: 'sign_in_event' },
  { table: 'audit_event' },
  { table: 'email_layouts' },
  { table: 'email_types' },
  { table: 'email_type_version' },
  { table: 'email_rule' },
  { table: 'email_apikey' },
  { table: 'carrier_webhook' },
  { table: 'email_webhook_key' },
  { table: 'webhook_token' },
  { table: 'email_suppression' },
  { table: 'email_unsubscribe' },
  { table: 'captured_table' },
  { table: 'capture_gap' },
  { table: 'file_table' },
  { table: 'file' },
  { table: 'idempotency_key' },
];

/** Tables that stay behind: the delivery history, and short-lived state. */
export const STAYING_TABLES: ReadonlySet<string> = new Set([
  'cell_tenant', // each cell's own copy of the directory
  'delivery',
  'delivery_count', // counted anew from the deliveries that move
  'delivery_count_by_type',
  'delivery_count_by_wait',
  'delivery_count_due',
  'delivery_start',
  'email_attempt',
  'email_event',
  'email_event_quota', // of a day
  'email_pace',
  'email_recipient', // written anew with the deliveries that move
  'mailbox',
  'invitation', // a link leads to the cell that made it
  'move_change', // of 0.1.0
  'oidc_sign_in',
  'outbox',
  'password_reset', // as an invitation
  'relay_batch',
  'sent_mail',
  'tenant_access', // computed by each installation
  'upload',
  'write_hold', // of a running move
]);
