/** The end of the unit that begins at `start`; undefined while it is incomplete. */
export type Measure = (bytes: Buffer, start: number) => number | undefined;

/** Splits a stream into complete units, whatever its chunk sizes. */
export function splitter(measure: Measure): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const units: Buffer[] = [];
    let start = 0;
    for (let end = measure(bytes, start); end !== undefined; end = measure(bytes, start)) {
      units.push(bytes.subarray(start, end));
      start = end;
      if (start === bytes.length) break;
    }
    rest = bytes.subarray(start);
    return units;
  };
}
