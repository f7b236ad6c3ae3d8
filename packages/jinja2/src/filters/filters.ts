import type { MethodTable } from '../values/callable.js';
import { HTML_FILTERS } from './htmlFilters.js';
import { LIQUID_FILTERS } from './liquidFilters.js';
import { LOCALE_FILTERS } from './localeFilters.js';
import { NUMBER_FILTERS } from './numberFilters.js';
import { SELECTION_FILTERS } from './selectionFilters.js';
import { SEQUENCE_FILTERS } from './sequenceFilters.js';
import { TEXT_FILTERS } from './textFilters.js';

/** Every filter by name: Jinja2's own, a few from LiquidJS, and those based on `Intl`. */
export const FILTERS: MethodTable = new Map([
  ...TEXT_FILTERS,
  ...NUMBER_FILTERS,
  ...SEQUENCE_FILTERS,
  ...SELECTION_FILTERS,
  ...HTML_FILTERS,
  ...LIQUID_FILTERS,
  ...LOCALE_FILTERS,
]);
