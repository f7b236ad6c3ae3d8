/**
 * One call at a time for everything that was given meanwhile.
 *
 * @param write receives what was given, in its order, and returns a result for each
 */
export function inGroups<T, R>(
  write: (given: readonly T[]) => Promise<readonly R[]>,
): (one: T) => Promise<R> {
  interface Waiting {
    readonly one: T;
    readonly resolve: (result: R) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Waiting[] = [];
  let isWriting = false;
  const run = async (): Promise<void> => {
    isWriting = true;
    // What is given in this turn of the event loop joins.
    await new Promise(setImmediate);
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        const results = await write(group.map(({ one }) => one));
        group.forEach(({ resolve }, at) => {
          resolve(results[at] as R);
        });
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    isWriting = false;
  };
  return (one) =>
    new Promise((resolve, reject) => {
      waiting.push({ one, resolve, reject });
      if (!isWriting) void run();
    });
}
