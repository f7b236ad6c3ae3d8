/** Where a request is held when its marker passes. */
export type Hold =
  /** Before the server sees a byte of it. */
  | 'request'
  /** All of it has gone on but the message that commits. */
  | 'commit'
  /** The server has answered, and the client has not heard of it. */
  | 'answer';

/** Catches the next request that matches, on any connection of a link. */
export interface Trap {
  readonly hold: Hold;
  /** @param request its bytes, one character each */
  matches(request: string): boolean;
}

/** A caught request. Its connection stands still until it is released or cut. */
export interface Caught {
  readonly request: string;
  release(): void;
}
