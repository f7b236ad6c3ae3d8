/** Where a request is held when its marker passes. */
export type Hold =
  /** Before the server sees a byte of it. */
  | 'request'
  /** All of it has gone on but the message that commits. */
  | 'commit'
  /** The server has answered, and the client has not heard of it. */
  | 'answer';

/** A caught request. Its connection stands still until it is released or cut. */
export interface Caught {
  /** Its bytes, one character each. */
  readonly request: string;
  readonly release: () => void;
}

/** What happens to a request that is to be held. */
export interface ArmedTrap {
  readonly hold: Hold;
  readonly caught: (caught: Caught) => void;
}
