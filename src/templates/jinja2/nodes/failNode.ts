import { locate } from '../../errors.js';
import { JinjaNode } from './node.js';

/** Fails whenever it is reached. */
export class FailNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly fault: () => Error,
  ) {
    super(source, offset);
  }

  override execute(): void {
    throw locate(this.fault(), this.offset);
  }
}
