import { ADDRESSES } from './settings/addresses.js';
import { SIGN_IN } from './settings/signIn.js';
import { REQUESTS } from './settings/requests.js';
import { EMAIL } from './settings/email.js';
import { FILES } from './settings/files.js';
import { DELIVERY } from './settings/delivery.js';
import { OPERATION } from './settings/operation.js';

/** All settings. docs/reference/configuration.md is generated from them, in the groups of scripts/configurationPage.ts. */
export const SETTINGS = {
  ...ADDRESSES,
  ...SIGN_IN,
  ...REQUESTS,
  ...EMAIL,
  ...FILES,
  ...DELIVERY,
  ...OPERATION,
} as const;
