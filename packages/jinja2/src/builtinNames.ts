import { FILTERS } from './filters/filters.js';
import { GLOBALS } from './jinja2/globals.js';
import { PREDICATES } from './jinja2/predicates.js';

const IS_NAME = /^[a-z_]\w*$/i;

/** The built-in names of Jinja2 templates, for completion in editors, except tests that are operators, such as `==`. */
export const BUILTIN_NAMES = {
  functions: sorted(GLOBALS.keys()),
  filters: sorted(FILTERS.keys()),
  tests: sorted(PREDICATES.keys()),
} as const;

function sorted(names: Iterable<string>): readonly string[] {
  return [...names].filter((name) => IS_NAME.test(name)).sort();
}
