import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * TLS options for servers that others choose. Key exchange over finite fields is left out, since the server chooses the
 * size of the field: one of 10,000 bits holds this process for a second. A server gets one handshake per connection, or it could
 * ask for another thousands of times a second.
 */
export const BOUNDED_TLS = {
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;
