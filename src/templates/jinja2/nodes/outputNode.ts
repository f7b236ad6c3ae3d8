import { locate } from '../../errors.js';
import { htmlOf } from '../../values/escape.js';
import { str } from '../../values/text.js';
import type { Value } from '../../values/value.js';
import type { Evaluate, Frame, Run } from '../runtime.js';
import type { Escaping } from '../scope.js';
import { JinjaNode } from './node.js';

/** One piece of output: text of the template, or a value. */
export interface OutputPart {
  readonly text: string;
  /** Undefined for text of the template. */
  readonly evaluate: Evaluate | undefined;
  readonly offset: number;
}

/** Consecutive text and `{{ … }}`. */
export class OutputNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly parts: readonly OutputPart[],
    private readonly escaping: Escaping,
    private readonly guarded: boolean,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const { parts } = this;
    const { run } = frame;
    let i = 0;
    try {
      for (; i < parts.length; i++) {
        const { evaluate, text } = parts[i] as OutputPart;
        if (evaluate === undefined) {
          if (this.guarded) run.out.writeStatic(text);
          else run.out.writeText(text);
          continue;
        }
        run.budget.step();
        const value = evaluate(frame);
        if (this.guarded) run.out.writeValue(value, this.print(value, run));
        else
          run.out.writeText(
            typeof value === 'string' && this.escaping === false ? value : this.print(value, run),
          );
      }
    } catch (error) {
      throw locate(error, parts[i]?.offset ?? this.offset);
    }
  }

  private print(value: Value, run: Run): string {
    const escapes = this.escaping === 'volatile' ? run.autoescape : this.escaping;
    return escapes ? htmlOf(value, run.budget) : str(value, run.budget);
  }
}
