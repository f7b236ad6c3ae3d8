/** At which point a matching request is held. */
export type Hold =
  /** Before the server sees a byte of it. */
  | 'request'
  /** Everything is forwarded except the message that commits. */
  | 'commit'
  /** The server has responded; the response is held. */
  | 'reply';

/** A caught request. Its connection is blocked until it is released or cut. */
export interface Caught {
  /** Its bytes, one character each. */
  readonly request: string;
  readonly release: () => void;
}

/** What to do with a caught request. */
export interface ArmedTrap {
  readonly hold: Hold;
  readonly caught: (caught: Caught) => void;
}
