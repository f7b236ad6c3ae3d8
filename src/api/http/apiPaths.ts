/** The paths of the API that have no id in them. */
export const API_PATHS = [
  '/query',
  '/roles_pbac',
  '/auth',
  '/anonauth',
  '/oidc',
  '/oidc/logout',
  '/oidc/backchannel',
  '/signin',
  '/signin/oidc',
  '/livez',
  '/readyz',
] as const;
