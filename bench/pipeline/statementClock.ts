/** Takes the messages of PostgreSQL's protocol out of a stream of bytes. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0);
  #startup: boolean;

  /** @param startup whether the stream begins with the one message that has no type: a client's does */
  constructor(startup: boolean) {
    this.#startup = startup;
  }

  /** @param onMessage given the type, '' for the startup message, and the content after the length */
  push(part: Buffer, onMessage: (type: string, content: Buffer) => void): void {
    this.#pending = this.#pending.length === 0 ? part : Buffer.concat([this.#pending, part]);
    for (;;) {
      const typeBytes = this.#startup ? 0 : 1;
      if (this.#pending.length < typeBytes + LENGTH_BYTES) return;
      const end = typeBytes + this.#pending.readInt32BE(typeBytes);
      if (this.#pending.length < end) return;
      const type = this.#startup ? '' : String.fromCharCode(this.#pending[0] ?? 0);
      onMessage(type, this.#pending.subarray(typeBytes + LENGTH_BYTES, end));
      this.#pending = this.#pending.subarray(end);
      this.#startup = false;
    }
  }
}

const LENGTH_BYTES = 4;

interface Awaited {
  readonly name: string;
  readonly sinceMs: number;
  /** Ends with ReadyForQuery, whatever came before. */
  readonly isSync: boolean;
}

/**
 * Follows one connection and says how long each prepared statement took, from its Execute to its CommandComplete. The
 * server responds in order, so a queue of what was asked is enough, also when requests are sent ahead of the responses.
 */
export class StatementClock {
  readonly #awaited: Awaited[] = [];
  #bound = '';

  constructor(private readonly onDone: (name: string, tookMs: number) => void) {}

  asked(type: string, content: Buffer): void {
    const sinceMs = performance.now();
    if (type === 'B') this.#bound = readText(content, readText(content, 0).length + 1);
    else if (type === 'E') this.#awaited.push({ name: this.#bound, sinceMs, isSync: false });
    else if (type === 'S' || type === 'Q') this.#awaited.push({ name: '', sinceMs, isSync: true });
  }

  answered(type: string): void {
    const [next] = this.#awaited;
    // A simple query may complete many commands before it is ready.
    if ((type === 'C' || type === 's' || type === 'I') && next && !next.isSync) {
      this.#awaited.shift();
      this.onDone(next.name, performance.now() - next.sinceMs);
    }
    // After an error the server skips what was sent before the Sync.
    if (type === 'Z') this.#awaited.splice(0, 1 + this.#awaited.findIndex(({ isSync }) => isSync));
  }
}

/** The zero-terminated text that begins there. */
function readText(content: Buffer, from: number): string {
  return content.toString('utf8', from, content.indexOf(0, from));
}
