import { Context, Drop, type Liquid, type Scope } from 'liquidjs';
import type { BudgetLimiter } from './budgetLimiter.js';
import type { LiquidRecord } from './liquidRecord.js';

/** What a template may read of a loop. LiquidJS would read, and call, whatever the loop's class inherits. */
const LOOP_NAMES: ReadonlySet<unknown> = new Set([
  'index',
  'index0',
  'rindex',
  'rindex0',
  'first',
  'last',
  'length',
  'name',
  'row',
  'col',
  'col0',
  'col_first',
  'col_last',
]);

/** LiquidJS's context of one render, in which names of the template find data and nothing else. */
export class LiquidContext extends Context {
  constructor(
    record: LiquidRecord,
    private readonly engine: Liquid,
    private readonly limiter: BudgetLimiter,
    isStrict: boolean,
  ) {
    const limit = limiter as unknown as Context['renderLimit'];
    super(
      record,
      engine.options,
      { sync: true, strictVariables: isStrict },
      { renderLimit: limit, memoryLimit: limit, liquid: engine },
    );
    // Tags keep their state here under names of the template.
    Reflect.set(this, 'registers', Object.create(null));
  }

  override readProperty(target: Scope, key: Parameters<Context['readProperty']>[1]): unknown {
    return target instanceof Drop && !LOOP_NAMES.has(key) ? undefined : super.readProperty(target, key);
  }

  /** The context in which filters such as `where` read an item. */
  override spawn(item: object = {}): LiquidContext {
    return new LiquidContext(item as LiquidRecord, this.engine, this.limiter, this.strictVariables);
  }
}
