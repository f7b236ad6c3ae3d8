/** A secret that must not appear anywhere, and its description. */
export interface Canary {
  readonly name: string;
  readonly secret: string;
}

/** Searches a stream for secrets, including across chunk boundaries. */
export class CanarySearch {
  #rest = '';
  readonly #longest: number;
  readonly found = new Set<string>();

  constructor(private readonly canaries: readonly Canary[]) {
    this.#longest = Math.max(...canaries.map(({ secret }) => secret.length));
  }

  push(text: string): void {
    const window = this.#rest + text;
    for (const name of namesIn(window, this.canaries)) this.found.add(name);
    this.#rest = window.slice(-this.#longest);
  }
}

/** Names of the secrets in a text. */
export function namesIn(text: string, canaries: readonly Canary[]): readonly string[] {
  return canaries.filter(({ secret }) => text.includes(secret)).map(({ name }) => name);
}
