/** Takes items in any order and gives the first one by `isBefore`. */
export class Heap<T> {
  readonly #items: T[] = [];

  constructor(private readonly isBefore: (one: T, other: T) => boolean) {}

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = items[parentAt] as T;
      if (!this.isBefore(item, parent)) break;
      items[at] = parent;
      at = parentAt;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const moved = items.pop();
    if (items.length === 0 || moved === undefined) return first;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      if (childAt >= items.length) break;
      if (childAt + 1 < items.length && this.isBefore(items[childAt + 1] as T, items[childAt] as T))
        childAt++;
      const child = items[childAt] as T;
      if (!this.isBefore(child, moved)) break;
      items[at] = child;
      at = childAt;
    }
    items[at] = moved;
    return first;
  }
}
