import { locate, renderFault } from '../../errors.js';
import { isText, textOf, typeName } from '../../values/value.js';
import type { Value } from '../../values/value.js';
import { Macro } from '../macro.js';
import type { MacroDefinition } from '../macro.js';
import type { Evaluate, Frame } from '../runtime.js';
import { evaluateBlock } from './setNodes.js';
import type { BlockText } from './setNodes.js';
import { JinjaNode } from './node.js';

/** `{% macro name(…) %}…{% endmacro %}` */
export class MacroNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly definition: MacroDefinition,
    private readonly slot: number,
    private readonly exportedAs: string | undefined,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const macro = new Macro(this.definition, frame);
    frame.run.budget.allocate(1);
    frame.slots[this.slot] = macro;
    if (this.exportedAs !== undefined) frame.run.setVar(this.exportedAs, macro);
  }
}

/** Prints the result of a call or filter block verbatim; it must be text. */
function writeText(value: Value, frame: Frame): void {
  if (!isText(value)) throw renderFault(`expected str instance, ${typeName(value)} found`);
  frame.run.out.writeValue(value, textOf(value));
}

/** `{% call name(…) %}…{% endcall %}`: passes the body as the macro's `caller`. */
export class CallBlockNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly call: Evaluate,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    try {
      writeText(this.call(frame), frame);
    } catch (error) {
      throw locate(error, this.offset);
    }
  }
}

/** `{% filter name %}…{% endfilter %}` */
export class FilterBlockNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly block: BlockText,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    try {
      writeText(evaluateBlock(this.block, frame), frame);
    } catch (error) {
      throw locate(error, this.offset);
    }
  }
}
