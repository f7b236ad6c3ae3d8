import type { Marker } from '../markers.js';
import type { ArmedTrap, Caught, Hold } from '../wire/trap.js';
import type { Member, Part, Service } from './member.js';

/** A process whose request is held. */
export interface Prey {
  readonly member: Member;
  readonly caught: Caught;
}

interface Hunt {
  readonly part: Part;
  readonly marker: Marker;
  readonly hold: Hold;
  readonly mercy: boolean;
  readonly end: (prey: Prey) => void;
}

/** Requests that are waited for, from whichever process of a part sends one first. */
export class Hunts {
  readonly #open = new Set<Hunt>();

  /**
   * @param mayTake whether a process may be caught; without mercy, also the last of its part
   * @param take called at once for the one that is
   */
  constructor(
    private readonly mayTake: (member: Member, mercy: boolean) => boolean,
    private readonly take: (member: Member) => void,
  ) {}

  /** Resolves when the request is held; `giveUp` ends the hunt. */
  begin(
    part: Part,
    marker: Marker,
    hold: Hold,
    mercy: boolean,
  ): { readonly prey: Promise<Prey>; readonly giveUp: () => void } {
    let hunt: Hunt | undefined;
    const prey = new Promise<Prey>((end) => {
      hunt = { part, marker, hold, mercy, end };
      this.#open.add(hunt);
    });
    return { prey, giveUp: () => hunt && this.#open.delete(hunt) };
  }

  /** For a link: the trap that a request falls into. */
  trapFor(member: Member, service: Service, request: Buffer): ArmedTrap | undefined {
    if (this.#open.size === 0) return undefined;
    let text: string | undefined;
    for (const hunt of this.#open) {
      if (hunt.part !== member.part || hunt.marker.on !== service) continue;
      text ??= request.toString('latin1');
      if (!this.mayTake(member, hunt.mercy) || !hunt.marker.matches(text)) continue;
      this.#open.delete(hunt);
      this.take(member);
      return { hold: hunt.hold, caught: (caught) => hunt.end({ member, caught }) };
    }
    return undefined;
  }
}
