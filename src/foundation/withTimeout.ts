/** What the promise settles to or, after so many milliseconds, what `late` returns or throws. */
export async function withTimeout<T>(promise: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([promise, timeout.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
