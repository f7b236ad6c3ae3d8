import type { Marker } from '../markers.js';
import type { Hold } from '../wire/trap.js';
import { Hunts, type Prey } from './hunts.js';
import { killHard, type ExitOfProcess, type Member, type Part, type Service } from './member.js';
import { startMember, type MemberOptions } from './memberProcess.js';
import { within } from './within.js';

/** How many processes of each part are to be up. */
export type Strength = Readonly<Record<Part, number>>;

export interface UnexpectedExit extends ExitOfProcess {
  readonly name: string;
  readonly lastWords: string;
}

/** Longest wait for a process that nobody else is disturbing, and for a request of one. */
const TAKE_MS = 300_000;
/** Of each part so many stay undisturbed, or nothing would be left to go on. */
const MIN_FREE = 1;
const STARTS_AT_ONCE = 2;

/** The processes of the installation. Each that is killed is replaced at once, as a supervisor would. */
export class Fleet {
  readonly #members = new Set<Member>();
  /** Whoever disturbs a process has it for itself. */
  readonly #taken = new Set<Member>();
  readonly #hunts = new Hunts(
    (member, mercy) => this.#mayTake(member, mercy),
    (member) => this.#taken.add(member),
  );
  readonly #waiting: { readonly part: Part; readonly give: (member: Member) => void }[] = [];
  readonly #expectedToEnd = new Set<Member>();
  readonly #starting = new Set<Promise<void>>();
  #slots = STARTS_AT_ONCE;
  readonly #waitingForSlot: (() => void)[] = [];
  #started = 0;
  #closing = false;
  /** Processes that ended though nobody had ended them. */
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
   * Holds the next request that bears the marker, from whichever process of the part sends it, and has that process
   * from then on. Throws when there is none for long. @param mercy leaves the last process of a part alone
   */
  async catchAt(part: Part, marker: Marker, hold: Hold, mercy = true): Promise<Prey> {
    const { prey, giveUp } = this.#hunts.begin(part, marker, hold, mercy);
    try {
      return await within(TAKE_MS, `${marker.name} from any ${part}`, prey);
    } finally {
      giveUp();
    }
  }

  /** How many processes are up, are being disturbed, and are still to start. */
  describe(): string {
    const up = (['web', 'relay', 'worker'] as const).map(
      (part) => `${this.all.filter((member) => member.part === part).length} ${part}`,
    );
    return `up: ${up.join(', ')}; disturbed: ${this.#taken.size}; starting: ${this.#starting.size}`;
  }

  /** Until every process that was killed has been replaced. */
  async atStrength(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  /** A process of the part that nobody else disturbs; when all are taken, the next that is free. */
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

  /** Nobody disturbs the process any more. */
  giveBack(member: Member): void {
    this.#taken.delete(member);
    this.#offer();
  }

  /** The process is about to be ended on purpose: another takes its place. */
  replace(member: Member): void {
    this.#expectedToEnd.add(member);
    this.#members.delete(member);
    this.#taken.delete(member);
    if (!this.#closing) this.#startOne(member.part);
  }

  /** Kills it at once; another takes its place. */
  async kill(member: Member): Promise<void> {
    const ended = killHard(member);
    this.replace(member);
    await ended;
  }

  /** Ends all; those that can't end in time are killed. */
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
    for (const [service, link] of Object.entries(member.links)) {
      link.trapFor = (request) => this.#hunts.trapFor(member, service as Service, request);
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

  /** No sooner than the last ones are replaced: else the processes would dwindle, and what is measured is their lack. */
  #mayTake(member: Member, mercy = true): boolean {
    const free = this.#free(member.part);
    if (!mercy) return free.includes(member);
    return this.#starting.size < STARTS_AT_ONCE && free.length > MIN_FREE && free.includes(member);
  }

  /** For those who wait to take a process. Who hunts for a request finds it by itself. */
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
