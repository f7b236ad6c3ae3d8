/** Batches the items added under one key during a turn of the event loop. Nothing waits longer than that. */
export class TurnBatcher<Key, Item> {
  readonly #groups = new Map<Key, Item[]>();

  constructor(private readonly onEnd: (key: Key, items: readonly Item[]) => void) {}

  add(key: Key, item: Item): void {
    const group = this.#groups.get(key);
    if (group) {
      group.push(item);
      return;
    }
    if (this.#groups.size === 0) setImmediate(() => this.#end());
    this.#groups.set(key, [item]);
  }

  #end(): void {
    const groups = [...this.#groups];
    this.#groups.clear();
    for (const [key, items] of groups) this.onEnd(key, items);
  }
}
