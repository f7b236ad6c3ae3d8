import { GraphQLList, GraphQLString } from 'graphql';
import { importUnsubscribed, readEmailTypeNames } from '../email/unsubscribed.js';
import { listedIn, readSuppressedAddress } from '../email/suppress.js';
import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { seenAddresses } from '../derive/visibility.js';
import { requireDeliveryRepairer, requireTenantAdmin } from '../permissions.js';

/** Recipients who have unsubscribed. Deleting one subscribes the address again. */
export const emailUnsubscribe = controlObject({
  table: 'email_unsubscribe',
  label: 'unsubscribed address',
  key: ['address'],
  columns: {
    address: {
      type: 'text',
      description: 'Email address, in lower case.',
      input: true,
      required: true,
      read: readSuppressedAddress,
    },
    email_types: {
      type: 'text[]',
      description: 'Email types that the address is unsubscribed from.',
      input: { type: new GraphQLList(GraphQLString) },
      read: readEmailTypeNames,
      fallback: [],
    },
    all_types: {
      type: 'bool',
      description: 'Whether the address is unsubscribed from every email type that offers unsubscribing.',
      input: true,
      fallback: false,
    },
    source: { type: 'text', description: 'How the address was unsubscribed: link, carrier or manual.' },
    ...CREATED,
  },
  visible: seenAddresses,
  mayList: requireDeliveryRepairer,
  // What people have decided themselves is not for everyone who helps them to undo.
  mayChange: requireTenantAdmin,
  changes: ['create', 'delete'],
  overrides: {
    readKey: (context, given) => listedIn('email_unsubscribe', context, given),
    insert: importUnsubscribed,
  },
});
