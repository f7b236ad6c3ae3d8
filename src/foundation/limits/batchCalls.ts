import { setImmediate as endOfTurn } from 'node:timers/promises';

/**
 * Collects calls into batches: those of one turn of the event loop run together, and so do those that arrive while a
 * batch runs. So one statement serves many deliveries under load, without adding latency when idle.
 * @param maxBatchSize of the sizes of all calls in a batch, unless it is only one
 */
export function batchCalls<Request, Result>(
  run: (requests: readonly Request[]) => Promise<readonly Result[]>,
  maxBatchSize: number,
  sizeOf: (request: Request) => number = () => 1,
): (request: Request) => Promise<Result> {
  interface Waiting {
    readonly request: Request;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Waiting[] = [];
  let running = false;

  const runTogether = async (group: readonly Waiting[]): Promise<void> => {
    try {
      const results = await run(group.map((item) => item.request));
      group.forEach((item, index) => item.resolve(results[index] as Result));
    } catch (error) {
      const [only] = group;
      if (group.length === 1) {
        only?.reject(error);
        return;
      }
      // A request that PostgreSQL rejects must not fail the others, nor have each of them run alone: all that come later wait.
      const half = Math.ceil(group.length / 2);
      await runTogether(group.slice(0, half));
      await runTogether(group.slice(half));
    }
  };
  const countFitting = (): number => {
    let size = 0;
    const first = waiting.findIndex(({ request }, index) => {
      size += sizeOf(request);
      return size > maxBatchSize && index > 0;
    });
    return first < 0 ? waiting.length : first;
  };
  const drain = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      await endOfTurn();
      const count = countFitting();
      const group = waiting.slice(0, count);
      waiting = waiting.slice(count);
      await runTogether(group);
    }
    running = false;
  };
  return (request) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      if (!running) void drain();
    });
}
