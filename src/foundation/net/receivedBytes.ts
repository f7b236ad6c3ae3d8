/** Bytes that another party sends in pieces as small as it likes. A piece of one byte would take 300 to keep. */
export class ReceivedBytes {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    // Most bodies have one piece, which is not copied.
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) this.#grow(2 * length);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  toBuffer(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafe(size);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
