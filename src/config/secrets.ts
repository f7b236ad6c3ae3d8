import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts stored secrets (API keys, client secrets, signing keys) and seals values that clients hand back. The first
 * key encrypts and seals; every key decrypts and opens, so that keys rotate without rewriting data.
 */
export class KeyRing {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #currentId: string;
  /** Derived keys by purpose and id: deriving is slower than sealing, and a response may contain many sealed values. */
  readonly #derived = new Map<string, Buffer>();

  private constructor(keys: ReadonlyMap<string, Buffer>, currentId: string) {
    this.#keys = keys;
    this.#currentId = currentId;
  }

  /** @param text `id:base64-of-32-bytes[,id:…]`. Throws an Error that names the entry, never its value. */
  static parse(text: string): KeyRing {
    const keys = new Map<string, Buffer>();
    const entries = text.split(',').map((entry) => entry.trim());
    for (const [index, entry] of entries.entries()) {
      const colon = entry.indexOf(':');
      const id = entry.slice(0, colon);
      const key = Buffer.from(entry.slice(colon + 1), 'base64');
      if (colon < 1 || key.length !== KEY_BYTES) {
        throw new Error(`entry ${index + 1} is not <id>:<base64 of ${KEY_BYTES} bytes>`);
      }
      if (keys.has(id)) throw new Error(`the key id "${id}" is given twice`);
      keys.set(id, key);
    }
    const [first] = keys.keys();
    if (first === undefined) throw new Error('no key given');
    return new KeyRing(keys, first);
  }

  /** A new random entry in the format that `parse` reads. */
  static generateEntry(id: string): string {
    return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
  }

  /**
   * @param context what the secret belongs to, such as `email_apikey:7`. It is authenticated, so that a
   *   ciphertext copied to another row does not decrypt there.
   * @returns `<key id>.<base64 of nonce, tag and ciphertext>`
   */
  encrypt(plaintext: string, context: string): string {
    return `${this.#currentId}.${this.#encrypt(Buffer.from(plaintext), context).toString('base64')}`;
  }

  /** As `encrypt`, for large values. @returns the length of the key's id in one byte, the id, nonce, tag and ciphertext */
  encryptBytes(plaintext: Buffer, context: string): Buffer {
    const id = Buffer.from(this.#currentId);
    return Buffer.concat([Buffer.from([id.length]), id, this.#encrypt(plaintext, context)]);
  }

  #encrypt(plaintext: Buffer, context: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key(this.#currentId), nonce);
    cipher.setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  /** The inverse of `encrypt`. Throws if the key is unknown, the text was altered or the context differs. */
  decrypt(ciphertext: string, context: string): string {
    const dot = ciphertext.lastIndexOf('.');
    const bytes = Buffer.from(ciphertext.slice(dot + 1), 'base64');
    return this.#decrypt(ciphertext.slice(0, dot), bytes, context).toString('utf8');
  }

  /** The inverse of `encryptBytes`. Throws as `decrypt` does. */
  decryptBytes(ciphertext: Buffer, context: string): Buffer {
    const end = 1 + (ciphertext[0] ?? 0);
    return this.#decrypt(ciphertext.toString('utf8', 1, end), ciphertext.subarray(end), context);
  }

  #decrypt(keyid: string, bytes: Buffer, context: string): Buffer {
    const decipher = createDecipheriv(ALGORITHM, this.#key(keyid), bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  }

  /**
   * Encrypts a text for clients, under a key derived per purpose. The nonce is derived from the text, so that no nonce is
   * reused for two texts however many are sealed; sealing is deterministic.
   * @param purpose e.g. `file links`; the text can't be opened for another
   * @returns base64url
   */
  seal(text: string, purpose: string): string {
    const nonce = this.#macOf(this.#currentId, text, `${purpose}, nonce`).subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#derive(this.#currentId, `${purpose}, seal`), nonce);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
  }

  /** The inverse of `seal`. @returns undefined unless one of our keys sealed it for this purpose, in canonical encoding */
  open(sealed: string, purpose: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    for (const id of this.#keys.keys()) {
      const key = this.#derive(id, `${purpose}, seal`);
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      try {
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        // GCM authentication failed: sealed by another key, or by none.
      }
    }
    return undefined;
  }

  /** @returns a password derived deterministically from the current key */
  password(owner: string, purpose: string): string {
    return this.#macOf(this.#currentId, owner, purpose).toString('base64url');
  }

  /** @returns a signed 64-bit number derived deterministically from the current key */
  number(purpose: string): bigint {
    return this.#macOf(this.#currentId, '', purpose).readBigInt64BE();
  }

  /** Signs a text with the current key. */
  sign(text: string, purpose: string): Buffer {
    return this.#macOf(this.#currentId, text, purpose);
  }

  /** Whether one of our keys signed the text. */
  isSignature(signature: Buffer, text: string, purpose: string): boolean {
    return [...this.#keys.keys()].some((id) => {
      const expected = this.#macOf(id, text, purpose);
      return expected.length === signature.length && timingSafeEqual(expected, signature);
    });
  }

  /** HMAC-SHA-256 under a key derived per purpose, of which there are few. */
  #macOf(id: string, text: string, purpose: string): Buffer {
    return createHmac('sha256', this.#derive(id, purpose)).update(text).digest();
  }

  #derive(id: string, purpose: string): Buffer {
    const name = `${purpose}:${id}`;
    let derived = this.#derived.get(name);
    if (!derived) {
      derived = Buffer.from(hkdfSync('sha256', this.#key(id), '', purpose, KEY_BYTES));
      this.#derived.set(name, derived);
    }
    return derived;
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id);
    if (!key) throw new Error(`SECRET_KEYS has no key "${id}", which encrypted a stored secret`);
    return key;
  }
}
