/**
 * A tenant's groups in flight: while one commits, PostgreSQL works on the next. With one, four requests in flight are 14 % slower;
 * a third gains nothing at 64.
 */
const MAX_GROUPS = 2;
const MAX_GROUP_SIZE = 16;

interface Line<Item> {
  running: number;
  readonly waiting: Item[];
}

/** Groups a tenant's writes that arrive while earlier ones run. One that finds nothing running is sent alone, at once. */
export class WriteGroups<Item> {
  readonly #lines = new Map<number, Line<Item>>();

  /** @param run must not reject */
  constructor(private readonly run: (tenantid: number, group: readonly Item[]) => Promise<void>) {}

  add(tenantid: number, item: Item): void {
    let line = this.#lines.get(tenantid);
    if (!line) this.#lines.set(tenantid, (line = { running: 0, waiting: [] }));
    line.waiting.push(item);
    this.#start(tenantid, line);
  }

  #start(tenantid: number, line: Line<Item>): void {
    while (line.running < MAX_GROUPS && line.waiting.length > 0) {
      line.running += 1;
      void this.run(tenantid, line.waiting.splice(0, MAX_GROUP_SIZE)).then(() => {
        line.running -= 1;
        if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(tenantid);
        else this.#start(tenantid, line);
      });
    }
  }
}
