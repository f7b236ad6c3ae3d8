import type { Config } from '../../config/config.js';
import { isPrivateAddress, literalAddress } from '../../foundation/net/networkAddress.js';
import { badInput } from '../derive/badInput.js';

type UriRules = Pick<Config, 'production' | 'oidcAllowPrivateNetwork'>;

/**
 * Checks that this service may call a provider's URL. In production only https is allowed, and no address in private
 * networks; what names resolve to is checked when they are called. Throws AppError BAD_USER_INPUT.
 */
export function checkOidcUri(uri: string, field: string, rules: UriRules): string {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw badInput(field, `${field} must be an https address.`);
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw badInput(field, `${field} must be without credentials and without a fragment.`);
  }
  if (!rules.production || rules.oidcAllowPrivateNetwork) return uri;
  if (url.protocol !== 'https:') throw badInput(field, `${field} must be an https address.`);
  const address = literalAddress(url);
  if (url.hostname === 'localhost' || (address !== undefined && isPrivateAddress(address))) {
    throw badInput(field, `${field} leads into the private network of this installation.`);
  }
  return uri;
}
