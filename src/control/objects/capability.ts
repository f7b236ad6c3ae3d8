import { controlObject } from '../derive/declaration.js';

/** What roles can be allowed to do. Fixed by the service, so read-only. */
export const capability = controlObject({
  table: 'capability',
  label: 'capability',
  key: ['capability'],
  ofTenant: false,
  columns: {
    capability: { type: 'text', required: true },
    package: { type: 'text' },
    subset: { type: 'text' },
    description: { type: 'text' },
  },
  visible: () => 'all',
});
