import type { Table } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/roles/principal.js';
import type { Sql } from '../../db/sql/sql.js';
import type { ControlObject } from '../derive/declaration.js';
import { apiKey } from './apiKey.js';
import { auditEvent } from './auditEvent.js';
import { capability } from './capability.js';
import { emailAttempt, emailDelivery, emailEvent, emailRecipient } from './emailDelivery.js';
import { emailRule } from './emailRule.js';
import { emailSuppression } from './emailSuppression.js';
import { emailLayouts } from './emailLayouts.js';
import { emailTypes } from './emailTypes.js';
import { emailTypeVersion } from './emailTypeVersion.js';
import { emailUnsubscribe } from './emailUnsubscribe.js';
import { oidcConfig } from './oidcConfig.js';
import { oidcKey } from './oidcKey.js';
import { oidcProviders } from './oidcProviders.js';
import { oidcGroupClass, oidcProvisioning } from './oidcProvisioning.js';
import { invitation } from './invitation.js';
import { outbox } from './outbox.js';
import { policyRule } from './policyRule.js';
import { role } from './role.js';
import { roleClass, roleClassMember } from './roleClass.js';
import { roleOidc } from './roleOidc.js';
import { signInEvent } from './signInEvent.js';
import { tenant } from './tenant.js';

/** All objects of /roles_pbac, in the order of its schema. */
export const OBJECTS: readonly ControlObject[] = [
  tenant,
  role,
  roleClass,
  roleClassMember,
  policyRule,
  capability,
  oidcProviders,
  oidcConfig,
  oidcKey,
  oidcProvisioning,
  oidcGroupClass,
  roleOidc,
  invitation,
  apiKey,
  signInEvent,
  auditEvent,
  emailTypes,
  emailTypeVersion,
  emailLayouts,
  emailRule,
  emailDelivery,
  outbox,
  emailAttempt,
  emailEvent,
  emailRecipient,
  emailSuppression,
  emailUnsubscribe,
];

const BY_TABLE = new Map(OBJECTS.map((object) => [object.table, object]));

/** The rows of control tables that a principal sees. A table that is not declared is closed. */
export function visibleTo(principal: Principal): (table: Table, alias: Sql) => Sql | 'all' | 'none' {
  return (table, alias) => BY_TABLE.get(table.name)?.visible(principal, alias) ?? 'none';
}
