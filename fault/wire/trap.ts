/** At which point a matching request is held. */
export type Hold =
  /** Before the server sees a byte of it. */
  | 'request'
  /** All of it is forwarded but the message that commits. */
  | 'commit'
  /** The server has responded; the response is held. */
  | 'answer';

/** A caught request. Its connection stands still until it is released or cut. */
export interface Caught {
  /** Its bytes, one character each. */
  readonly request: string;
  readonly release: () => void;
}

/** What to do with a request that is caught. */
export interface ArmedTrap {
  readonly hold: Hold;
  readonly caught: (caught: Caught) => void;
}
