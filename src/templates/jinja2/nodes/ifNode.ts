import type { Frame } from '../runtime.js';
import { executeAll, JinjaNode } from './node.js';

export interface Branch {
  readonly condition: (frame: Frame) => boolean;
  readonly body: readonly JinjaNode[];
}

/** `{% if %}…{% elif %}…{% else %}…{% endif %}` */
export class IfNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly branches: readonly Branch[],
    private readonly otherwise: readonly JinjaNode[],
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    for (const { condition, body } of this.branches) {
      if (condition(frame)) {
        executeAll(body, frame);
        return;
      }
    }
    executeAll(this.otherwise, frame);
  }
}
