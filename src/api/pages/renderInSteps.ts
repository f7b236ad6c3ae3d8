import type { Steps } from '../../graphql/steps.js';

/** What LiquidJS does between two steps: about a millisecond, unless it prints long texts. */
const PARTS_PER_STEP = 5_000;

/** What is needed of LiquidJS: what `renderFileSync` runs. */
interface Renderer {
  _renderFile(
    view: string,
    values: object,
    options: { readonly sync: boolean },
  ): Iterator<unknown, unknown, unknown>;
}

/**
 * Renders a view as `renderFileSync` does, but in steps: a page may have a hundred thousand cells. LiquidJS renders each part of a
 * template by a generator, which yields those of the parts within.
 */
export function* renderInSteps(liquid: Renderer, view: string, values: object): Steps<string> {
  yield;
  const stack: Iterator<unknown, unknown, unknown>[] = [liquid._renderFile(view, values, { sync: true })];
  let value: unknown;
  let error: { readonly thrown: unknown } | undefined;
  let parts = 0;
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    if ((parts += 1) % PARTS_PER_STEP === 0) yield;
    try {
      const result = error && top.throw ? top.throw(error.thrown) : top.next(value);
      error = undefined;
      if (result.done) stack.pop();
      value = result.value;
      if (isIterator(value)) stack.push(value);
    } catch (thrown) {
      stack.pop();
      error = { thrown };
    }
  }
  if (error) throw error.thrown;
  return value as string;
}

/** As LiquidJS tells them from values. */
function isIterator(value: unknown): value is Iterator<unknown, unknown, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'next' in value &&
    typeof value.next === 'function' &&
    'throw' in value &&
    typeof value.throw === 'function' &&
    'return' in value &&
    typeof value.return === 'function'
  );
}
