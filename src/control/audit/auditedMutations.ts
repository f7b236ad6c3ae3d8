import { readAuditedSender } from '../tenants/passwordSender.js';
import { readSignInBrand } from '../tenants/signInBrand.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext, ControlFields } from '../controlContext.js';
import { readShown } from '../email/emailTransport.js';
import { recordChange } from './recordChange.js';

type Args = Readonly<Record<string, unknown>>;

/** What the audit log says of a mutation of `Utility`. Of its arguments, only these: others may be secrets. */
interface UtilityAudit {
  readonly object: string;
  /** In the console, after who did it. */
  readonly did: string;
  /** The argument that names what is changed. */
  readonly key?: string;
  /** Arguments that are the new values. */
  readonly values?: readonly string[];
  /** Instead: reads the values before and after. */
  readonly read?: (context: ControlContext) => Promise<object | undefined>;
  /** It writes to the log itself, in a transaction of its own. */
  readonly self?: true;
}

/** Every mutation of `Utility`, and `Utility.anonymous_logins`; null for what changes nothing. */
export const AUDITS: Readonly<Record<string, UtilityAudit | null>> = {
  set_email_apikey: { object: 'email_transport', did: 'set the API key of SendGrid', read: readShown },
  set_email_transport: { object: 'email_transport', did: 'set the carriers', self: true },
  set_email_webhook_key: {
    object: 'email_webhook',
    did: "set the key of SendGrid's reports",
    values: ['verification_key'],
  },
  set_email_webhook: {
    object: 'email_webhook',
    did: 'set the secret of the reports of the carrier',
    key: 'input.kind',
  },
  set_file_table: {
    object: 'file_table',
    did: 'allowed files in the table',
    key: 'table_name',
    values: ['column_name'],
  },
  set_capture: {
    object: 'captured_table',
    did: 'chose whose changes are captured in the table',
    key: 'table_name',
    values: ['writers'],
  },
  set_captures: {
    object: 'captured_table',
    did: 'chose whose changes are captured in the table',
    self: true,
  },
  set_sign_in_brand: {
    object: 'sign_in_brand',
    did: 'changed the sign-in page',
    read: ({ db, principal }) => readSignInBrand(db, principal.tenantid),
  },
  set_password_sender: {
    object: 'password_sender',
    did: 'chose where emails about forgotten passwords come from',
    read: readAuditedSender,
  },
  anonymous_logins: {
    object: 'tenant',
    did: 'allowed or forbade anonymous sign-in to the tenant',
    self: true,
  },
  end_session: { object: 'session', did: 'ended the session', key: 'sessionid' },
  end_other_sessions: { object: 'session', did: 'ended all other sessions' },
  end_sessions: { object: 'session', did: 'ended all sessions', values: ['roleid'] },
  send_test_email: null,
  save_email_draft: { object: 'email_type_version', did: 'saved a draft of the email', key: 'email_type' },
  delete_email_draft: {
    object: 'email_type_version',
    did: 'deleted the draft of the email',
    key: 'email_type',
  },
  redrive_email_delivery: { object: 'email_delivery', did: 'resent the delivery', key: 'deliveryid' },
  redrive_email_deliveries: {
    object: 'email_delivery',
    did: 'resent many deliveries',
    values: ['filter'],
  },
};

/** The mutations, each of which writes to the audit log what it has changed. */
export function audited(fields: ControlFields): ControlFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const audit = ownValue(AUDITS, name);
      if (audit === undefined) throw new Error(`what the audit log says of ${name} is not declared`);
      if (audit === null || audit.self) return [name, field];
      const resolve: typeof field.resolve = async (source, args: Args, context, info) => {
        const before = await audit.read?.(context);
        const result: unknown = await field.resolve?.(source, args, context, info);
        const after = audit.read ? await audit.read(context) : valuesOf(audit, args);
        const { object, key } = audit;
        const named = key === undefined ? null : String(argument(args, key));
        await recordChange(context.db, context, { object, operation: name, key: named, before, after });
        return result;
      };
      return [name, { ...field, resolve }];
    }),
  );
}

function valuesOf({ values = [] }: UtilityAudit, args: Args): object {
  return Object.fromEntries(values.map((name) => [name, argument(args, name) ?? null]));
}

/** @param path such as `input.kind` */
function argument(args: Args, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => value && ownValue(value as Args, name), args);
}
