import type { Marker } from '../markers.js';
import type { ArmedTrap, Caught, Hold } from '../wire/trap.js';
import type { Member, Part, Service } from './member.js';

/** A process whose request is held. */
export interface CaughtProcess {
  readonly member: Member;
  readonly caught: Caught;
}

interface OpenTrap {
  readonly part: Part;
  readonly marker: Marker;
  readonly hold: Hold;
  readonly spareLast: boolean;
  readonly resolve: (process: CaughtProcess) => void;
}

/** Traps for requests of any process of a part: the first process to send one is caught. */
export class RequestTraps {
  readonly #open = new Set<OpenTrap>();

  /**
   * @param mayTake whether a process may be caught; with `spareLast`, never the last one of its part
   * @param take called synchronously for the process that is caught
   */
  constructor(
    private readonly mayTake: (member: Member, spareLast: boolean) => boolean,
    private readonly take: (member: Member) => void,
  ) {}

  /** `caught` resolves when a request is held; `close` removes the trap. */
  open(
    part: Part,
    marker: Marker,
    hold: Hold,
    spareLast: boolean,
  ): { readonly caught: Promise<CaughtProcess>; readonly close: () => void } {
    let trap: OpenTrap | undefined;
    const caught = new Promise<CaughtProcess>((resolve) => {
      trap = { part, marker, hold, spareLast, resolve };
      this.#open.add(trap);
    });
    return { caught, close: () => trap && this.#open.delete(trap) };
  }

  /** For a link: the trap for this request, if any. */
  trapFor(member: Member, service: Service, request: Buffer): ArmedTrap | undefined {
    if (this.#open.size === 0) return undefined;
    let text: string | undefined;
    for (const trap of this.#open) {
      if (trap.part !== member.part || trap.marker.on !== service) continue;
      text ??= request.toString('latin1');
      if (!this.mayTake(member, trap.spareLast) || !trap.marker.matches(text)) continue;
      this.#open.delete(trap);
      this.take(member);
      return { hold: trap.hold, caught: (caught) => trap.resolve({ member, caught }) };
    }
    return undefined;
  }
}
