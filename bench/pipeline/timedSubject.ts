/** Subjects of emails whose way is timed begin with this. */
export const TIMED = 'timed ';

/** What a timed email says of the row that caused it. */
export interface TimedSubject {
  readonly itemid: string;
  /** When its row was written, just before the commit, by the database's clock. */
  readonly writtenMs: number;
}

/** Reads a subject of the email type in emailShop.ts. */
export function readTimedSubject(subject: string): TimedSubject {
  const [, itemid = '', writtenMs = ''] = subject.split(' ');
  return { itemid, writtenMs: Number(writtenMs) };
}
