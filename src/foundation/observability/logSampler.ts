/**
 * Failed requests, failed deliveries and internal errors that are logged per second, whatever the settings. A tenant may
 * cause any number of them.
 */
export const FAILURES_PER_SECOND = 50;

/**
 * Limits log lines of one kind per second; the rest are counted. Decides before a line is built, so that skipped lines cost
 * next to nothing.
 */
export class LogSampler {
  #second = 0;
  #taken = 0;
  #leftOut = 0;
  readonly #takenBy = new Map<number, number>();

  /**
   * @param perSecond 0 skips all lines
   * @param onLeftOut called before the next line with the number of lines skipped since the previous one
   */
  constructor(
    private readonly perSecond: number,
    private readonly onLeftOut: (count: number) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** @param tenantid whose line it is: one tenant gets at most half of all */
  take(tenantid?: number): boolean {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#taken = 0;
      this.#takenBy.clear();
    }
    const takenByTenant = tenantid === undefined ? 0 : (this.#takenBy.get(tenantid) ?? 0);
    if (this.#taken >= this.perSecond || takenByTenant >= this.perSecond / 2) {
      this.#leftOut += 1;
      return false;
    }
    this.#taken += 1;
    if (tenantid !== undefined) this.#takenBy.set(tenantid, takenByTenant + 1);
    if (this.#leftOut > 0) {
      this.onLeftOut(this.#leftOut);
      this.#leftOut = 0;
    }
    return true;
  }
}
