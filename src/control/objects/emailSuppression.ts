import { sql } from '../../db/sql/sql.js';
import { ID } from '../../graphql/schema/scalars.js';
import { listedIn, readReason, readSuppressedAddress, suppress } from '../email/suppress.js';
import { CREATED } from '../derive/columns.js';
import { seenAddresses } from '../derive/visibility.js';
import { controlObject } from '../derive/declaration.js';
import { requireDeliveryRepairer } from '../permissions.js';

/** Addresses to which the tenant sends nothing. Bounces and complaints are added automatically. */
export const emailSuppression = controlObject({
  table: 'email_suppression',
  label: 'suppressed address',
  key: ['address'],
  removed: 'removetime',
  columns: {
    address: {
      type: 'text',
      description: 'Email address, in lower case.',
      input: true,
      required: true,
      read: readSuppressedAddress,
    },
    reason: { type: 'text', input: true, read: readReason },
    source: { type: 'text', description: 'How the address was added: bounce, spamreport or manual.' },
    deliveryid: {
      type: 'int8',
      output: ID,
      description: 'The delivery that bounced or drew a complaint.',
    },
    ...CREATED,
  },
  visible(principal, row) {
    const seen = seenAddresses(principal, row);
    return seen === 'none' ? seen : sql`${seen} and ${row}.removetime is null`;
  },
  mayList: requireDeliveryRepairer,
  mayChange: requireDeliveryRepairer,
  changes: ['create', 'delete'],
  overrides: {
    readKey: (context, given) => listedIn('email_suppression', context, given),
    insert: suppress,
  },
});
