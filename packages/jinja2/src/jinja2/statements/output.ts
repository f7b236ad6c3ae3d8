import { locate } from '../../errors.js';
import { htmlOf } from '../../values/escape.js';
import { str } from '../../values/text.js';
import type { Value } from '../../values/value.js';
import type { Evaluate, Execute, Run } from '../runtime.js';
import type { Escaping } from '../scope.js';

/** One piece of output: text of the template, or a value. */
export type OutputPart = { readonly offset: number } & (
  { readonly text: string; readonly evaluate?: undefined } | { readonly evaluate: Evaluate }
);

/** Consecutive text and `{{ … }}`. */
export function printParts(parts: readonly OutputPart[], escaping: Escaping): Execute {
  const print = printer(escaping);
  return (frame) => {
    const { run } = frame;
    const { budget, out } = run;
    let offset = 0;
    try {
      for (const part of parts) {
        ({ offset } = part);
        if (part.evaluate === undefined) {
          out.writeStatic(part.text);
        } else {
          budget.step();
          const value = part.evaluate(frame);
          out.writeValue(value, print(value, run));
        }
      }
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function printer(escaping: Escaping): (value: Value, run: Run) => string {
  switch (escaping) {
    case true:
      return (value, { budget }) => htmlOf(value, budget);
    case false:
      return (value, { budget }) => str(value, budget);
    case 'volatile':
      return (value, { budget, autoescape }) => (autoescape ? htmlOf(value, budget) : str(value, budget));
  }
}
