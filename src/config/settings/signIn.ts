import { KeyRing } from '../secrets.js';
import { DAY_SECONDS, MAX_DAYS, setting } from './setting.js';
import { flag, integer, optional, optionalText, tenantOrigins } from '../settingValues.js';

export const SIGN_IN = {
  // Secrets
  secretKeys: setting(
    'SECRET_KEYS',
    optional((value) => KeyRing.parse(value)),
    undefined,
    '`id:base64-of-32-bytes[,…]`. The first encrypts stored secrets, all decrypt.',
    'generated in embedded mode only',
  ),
  sourceSecretKeys: setting(
    'SOURCE_SECRET_KEYS',
    optional((value) => KeyRing.parse(value)),
    undefined,
    'Only for `rowpost tenant import`: the `SECRET_KEYS` of the installation that the tenant comes from.',
    '`SECRET_KEYS`',
  ),
  pxadminPassword: setting(
    'PXADMIN_PASSWORD',
    optionalText,
    undefined,
    "Password of `pxadmin`, tenant 0's root role, set at the first start. At least 8 characters, and not a common password.",
    'generated in embedded mode only',
  ),

  // Tokens
  accessTokenSeconds: setting(
    'ACCESS_TOKEN_SECONDS',
    integer(60),
    DAY_SECONDS,
    'Lifetime of access tokens, in seconds, at least 60.',
  ),
  refreshTokenSeconds: setting(
    'REFRESH_TOKEN_SECONDS',
    integer(60),
    7 * DAY_SECONDS,
    'Lifetime of refresh tokens, in seconds, at least 60.',
  ),

  // Sign-in limits, counted in PostgreSQL across all web processes
  signInsPerAddress: setting(
    'SIGN_INS_PER_ADDRESS',
    integer(0),
    600,
    'Requests to `/auth`, `/anonauth`, `/oidc` and the forms of the sign-in pages from one address (one /64 for IPv6) in a minute, and in each web process as many views of these pages, and wrong API keys; 0 for no limit.',
  ),
  signInFailuresPerLogin: setting(
    'SIGN_IN_FAILURES_PER_LOGIN',
    integer(0),
    50,
    'Wrong passwords for one login from one address (one /64 for IPv6) in a quarter of an hour. After ten times as many from all addresses, further attempts wait, up to 5 s. 0 for no limit.',
  ),

  signInEventDays: setting(
    'SIGN_IN_EVENT_DAYS',
    integer(1, MAX_DAYS),
    90,
    'Retention of who signed in, was refused or signed out (`sign_in_event`), in days.',
  ),

  // Sign-in through identity providers
  oidcAllowPrivateNetwork: setting(
    'OIDC_ALLOW_PRIVATE_NETWORK',
    flag,
    false,
    'Whether identity providers may be in a private network and use plain http, even in production.',
  ),

  oidcReturnOrigins: setting(
    'OIDC_RETURN_ORIGINS',
    tenantOrigins,
    [],
    'Origins besides this service that `return_to` may point to, comma-separated. They receive tokens: of the users of every tenant, or of one tenant if its id precedes, as in `12=https://app.example.com`.',
    'none',
  ),
} as const;
