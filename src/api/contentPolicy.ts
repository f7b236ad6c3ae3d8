/**
 * What pages may load and do: their own files and nothing from elsewhere. For helmet. No script by its origin, which is
 * that of uploaded files too: a page with scripts trusts them by nonce.
 */
export const CONTENT_POLICY = {
  'default-src': ["'none'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'frame-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'self'"],
};
