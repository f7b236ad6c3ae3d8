/**
 * Content security policy for helmet: same-origin resources only. Scripts are not allowed by origin, which uploaded files
 * share: pages with scripts use a nonce.
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
