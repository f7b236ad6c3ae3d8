import { Liquid, type Context } from 'liquidjs';
import { BoundedEmitter } from '../emitter.js';
import type { Budget } from '../limits.js';
import type { BudgetLimiter } from './budgetLimiter.js';

/** Tags that would load other templates, which Liquid templates may not do. */
const LOADING_TAGS = ['include', 'render', 'layout', 'block'];

/** Creates the engine for one kind of escaping. Captured output of blocks is bounded like the final output. */
function createLiquid(escaping: boolean): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    globals: Object.create(null) as object,
    // Applies to strict templates.
    lenientIf: true,
    ...(escaping ? { outputEscape: 'escape' as const } : {}),
  });
  for (const tag of LOADING_TAGS) Reflect.deleteProperty(liquid.tags, tag);
  const { renderer } = liquid;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, emitter) =>
    renderTemplates(templates, context, emitter ?? new BoundedEmitter(budgetOf(context).limits.outputLength));
  for (const part of [liquid, liquid.filters, liquid.tags, liquid.options, liquid.options.globals, renderer])
    Object.freeze(part);
  return liquid;
}

function budgetOf(context: Context): Budget {
  return (context.renderLimit as unknown as BudgetLimiter).budget;
}

/** Shared by all templates; frozen, because a render must leave nothing in them. */
export const ENGINES = { plain: createLiquid(false), escaping: createLiquid(true) } as const;
