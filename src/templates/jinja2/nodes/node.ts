import { Token, TokenKind } from 'liquidjs';
import type { Context, Template } from 'liquidjs';
import type { Executable, Frame } from '../runtime.js';

/** A position in a Jinja2 template, as LiquidJS's errors require. */
class PlaceToken extends Token {
  constructor(source: string, offset: number) {
    super(TokenKind.Tag, source, offset, offset);
  }
}

/** The LiquidJS context of one render of a Jinja2 template: carries the frame. */
export interface JinjaContext extends Context {
  readonly frame: Frame;
}

/**
 * A statement of a Jinja2 template. To LiquidJS it is a template like its own tags; nested statements run in plain
 * loops, because LiquidJS's generators check the clock at every node, which halves the speed.
 */
export abstract class JinjaNode implements Template, Executable {
  constructor(
    private readonly source: string,
    protected readonly offset: number,
  ) {}

  get token(): Token {
    return new PlaceToken(this.source, this.offset);
  }

  render(context: Context): void {
    this.execute((context as JinjaContext).frame);
  }

  /** Prints to the run's emitter, or changes variables. @throws Fault */
  abstract execute(frame: Frame): void;
}

/** Runs statements one after the other. */
export function executeAll(nodes: readonly Executable[], frame: Frame): void {
  for (let i = 0; i < nodes.length; i++) {
    frame.run.budget.step();
    (nodes[i] as Executable).execute(frame);
  }
}
