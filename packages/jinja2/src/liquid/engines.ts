import { Liquid } from 'liquidjs';
import { BoundedEmitter } from '../emitter.js';
import { dateFilters } from './dateFilters.js';
import { listFilters } from './listFilters.js';
import { budgetOf, OPERATORS, searchFilters, type FilterHandler } from './searchFilters.js';
import { textFilters } from './textFilters.js';

/** Tags that would load other templates, which Liquid templates may not do. */
const LOADING_TAGS = ['include', 'render', 'layout', 'block'];

/** Creates the engine for one kind of escaping. Captured output of blocks is bounded like the final output. */
function createLiquid(escaping: boolean): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    globals: Object.create(null) as object,
    // Applies to strict templates.
    lenientIf: true,
    operators: OPERATORS,
    ...(escaping ? { outputEscape: 'escape' as const } : {}),
  });
  for (const tag of LOADING_TAGS) Reflect.deleteProperty(liquid.tags, tag);
  const filters = {
    ...searchFilters((name) => filterOf(liquid, name)),
    ...textFilters((name) => filterOf(liquid, name)),
    ...listFilters((name) => filterOf(liquid, name)),
    ...dateFilters(filterOf(liquid, 'date'), liquid.options.locale),
  };
  for (const [name, filter] of Object.entries(filters)) liquid.registerFilter(name, filter);
  const { renderer } = liquid;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, emitter) =>
    renderTemplates(templates, context, emitter ?? new BoundedEmitter(budgetOf(context).limits.outputLength));
  for (const part of [liquid, liquid.filters, liquid.tags, liquid.options, liquid.options.globals, renderer])
    Object.freeze(part);
  return liquid;
}

/** One of LiquidJS's filters that are functions. */
export function filterOf({ filters }: Liquid, name: string): FilterHandler {
  // eslint-disable-next-line rowpost/no-inherited-names -- the name is no template's
  const filter = filters[name];
  if (typeof filter === 'function') return filter as FilterHandler;
  throw new Error(`LiquidJS has no filter ${name}`);
}

/** Shared by all templates; frozen, because a render must leave nothing in them. */
export const ENGINES = { plain: createLiquid(false), escaping: createLiquid(true) } as const;
