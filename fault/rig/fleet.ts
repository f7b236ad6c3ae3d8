import type { Marker } from '../markers.js';
import type { Hold } from '../wire/trap.js';
import { RequestTraps, type CaughtProcess } from './requestTraps.js';
import { killHard, serviceOf, type ExitOfProcess, type LinkName, type Member, type Part } from './member.js';
import { startMember, type MemberOptions } from './memberProcess.js';
import { within } from './within.js';

/** How many processes of each part are to be up. */
export type Strength = Readonly<Record<Part, number>>;

export interface UnexpectedExit extends ExitOfProcess {
  readonly name: string;
  readonly lastWords: string;
}

/** Longest wait for an undisturbed process, and for a request to be caught. */
const TAKE_MS = 300_000;
/** Processes of each part that stay undisturbed, so that work can continue. */
const MIN_FREE = 1;
const STARTS_AT_ONCE = 2;

/** The processes of the installation. Each that is killed is replaced at once, as a supervisor would. */
export class Fleet {
  readonly #members = new Set<Member>();
  /** Processes reserved by a fault. */
  readonly #taken = new Set<Member>();
  readonly #traps = new RequestTraps(
    (member, spareLast) => this.#mayTake(member, spareLast),
    (member) => this.#taken.add(member),
  );
  readonly #waiting: { readonly part: Part; readonly give: (member: Member) => void }[] = [];
  readonly #expectedToEnd = new Set<Member>();
  readonly #starting = new Set<Promise<void>>();
  #slots = STARTS_AT_ONCE;
  readonly #waitingForSlot: (() => void)[] = [];
  #started = 0;
  #closing = false;
  /** Processes that exited on their own. */
  readonly unexpectedExits: UnexpectedExit[] = [];
  /** Starts that failed. */
  readonly failedStarts: Error[] = [];

  constructor(private readonly options: MemberOptions) {}

  async start(strength: Strength): Promise<void> {
    for (const part of ['web', 'relay', 'worker'] as const) {
      for (let i = 0; i < strength[part]; i++) this.#startOne(part);
    }
    await this.atStrength();
    const [failed] = this.failedStarts;
    if (failed) throw failed;
  }

  get webs(): readonly Member[] {
    return [...this.#members].filter(({ part }) => part === 'web');
  }

  get all(): readonly Member[] {
    return [...this.#members];
  }

  /**
   * Holds the next request that matches the marker, from any process of the part, and reserves that process. Rejects
   * if there is none in time.
   * @param spareLast never takes the last undisturbed process of a part
   */
  async catchAt(part: Part, marker: Marker, hold: Hold, spareLast = true): Promise<CaughtProcess> {
    const { caught, close } = this.#traps.open(part, marker, hold, spareLast);
    try {
      return await within(TAKE_MS, `${marker.name} from any ${part}`, caught);
    } finally {
      close();
    }
  }

  /** Counts of processes that are up, disturbed and starting. */
  describe(): string {
    const up = (['web', 'relay', 'worker'] as const).map(
      (part) => `${this.all.filter((member) => member.part === part).length} ${part}`,
    );
    return `up: ${up.join(', ')}; disturbed: ${this.#taken.size}; starting: ${this.#starting.size}`;
  }

  /** Resolves once every killed process has been replaced. */
  async atStrength(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  /** Reserves an undisturbed process of the part, waiting for one if necessary. */
  async take(part: Part): Promise<Member> {
    const free = this.#free(part).filter((candidate) => this.#mayTake(candidate));
    const member =
      free[Math.floor(Math.random() * free.length)] ??
      (await within(
        TAKE_MS,
        `a ${part} that is up and undisturbed`,
        new Promise<Member>((resolve) => this.#waiting.push({ part, give: resolve })),
      ));
    this.#taken.add(member);
    return member;
  }

  /** Releases a reserved process. */
  giveBack(member: Member): void {
    this.#taken.delete(member);
    this.#offer();
  }

  /** Call before ending a process on purpose: starts its replacement. */
  replace(member: Member): void {
    this.#expectedToEnd.add(member);
    this.#members.delete(member);
    this.#taken.delete(member);
    if (!this.#closing) this.#startOne(member.part);
  }

  /** Kills the process with SIGKILL and starts its replacement. */
  async kill(member: Member): Promise<void> {
    const ended = killHard(member);
    this.replace(member);
    await ended;
  }

  /** Stops all processes; kills those that exceed the grace period. */
  async stop(graceMs: number): Promise<void> {
    this.#closing = true;
    await this.atStrength();
    await Promise.all(
      this.all.map(async (member) => {
        this.#expectedToEnd.add(member);
        member.signal('SIGCONT');
        member.signal('SIGTERM');
        await within(graceMs, `the end of ${member.name}`, member.exited).catch(() => killHard(member));
      }),
    );
  }

  #startOne(part: Part): void {
    const starting = this.#inTurn(() => startMember(part, ++this.#started, this.options)).then(
      (member) => this.#welcome(member),
      (error: unknown) => void this.failedStarts.push(error as Error),
    );
    this.#starting.add(starting);
    void starting.then(() => {
      this.#starting.delete(starting);
      this.#offer();
    });
  }

  #welcome(member: Member): void {
    this.#members.add(member);
    for (const [name, link] of Object.entries(member.links)) {
      const service = serviceOf(name as LinkName);
      link.trapFor = (request) => this.#traps.trapFor(member, service, request);
    }
    void member.exited.then((exit) => {
      this.#members.delete(member);
      if (this.#expectedToEnd.has(member)) return;
      this.unexpectedExits.push({ ...exit, name: member.name, lastWords: member.lastWords() });
      if (!this.#closing) this.#startOne(member.part);
    });
    this.#offer();
  }

  #free(part: Part): readonly Member[] {
    return [...this.#members].filter((member) => member.part === part && !this.#taken.has(member));
  }

  /** Waits for earlier replacements: otherwise the fleet would shrink, and a lack of processes would be measured. */
  #mayTake(member: Member, spareLast = true): boolean {
    const free = this.#free(member.part);
    if (!spareLast) return free.includes(member);
    return this.#starting.size < STARTS_AT_ONCE && free.length > MIN_FREE && free.includes(member);
  }

  /** Serves callers waiting in `take`. Request traps don't need it. */
  #offer(): void {
    for (const waiting of [...this.#waiting]) {
      const member = this.#free(waiting.part).find((candidate) => this.#mayTake(candidate));
      if (!member) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      this.#taken.add(member);
      waiting.give(member);
    }
  }

  /** Starting takes CPU time: too many at once would slow what is being measured. */
  async #inTurn<T>(start: () => Promise<T>): Promise<T> {
    if (this.#slots > 0) this.#slots -= 1;
    else await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
    try {
      return await start();
    } finally {
      const next = this.#waitingForSlot.shift();
      if (next) next();
      else this.#slots += 1;
    }
  }
}
