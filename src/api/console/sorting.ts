import { ownValue } from '../../foundation/ownValue.js';
import { linkTo } from './consolePath.js';
import { textOf, type Values } from './formValues.js';

/** A column that a list can be sorted by, and the ordering for each direction. */
export interface SortableColumn {
  readonly label: string;
  readonly up: readonly string[];
  readonly down: readonly string[];
}

/** The head of a column. */
export interface Head {
  readonly label: string;
  /** The list sorted by it, or the other way round. */
  readonly href: string;
  /** As in `aria-sort`. */
  readonly sort: 'ascending' | 'descending' | 'none';
}

export interface Sorting {
  readonly ordering: readonly string[];
  readonly heads: readonly Head[];
  /** What links to other pages of the list keep: `login`, or `login-down`. */
  readonly sort: string;
}

const DOWN = '-down';

/** How a list is sorted by its query string: by the first column if it says nothing known. */
export function sortingOf(
  columns: Readonly<Record<string, SortableColumn>>,
  given: Values,
  path: string,
  search: Readonly<Record<string, string>>,
): Sorting {
  const [first = ''] = Object.keys(columns);
  const asked = textOf(given, 'sort');
  const isDown = asked.endsWith(DOWN);
  const name = isDown ? asked.slice(0, -DOWN.length) : asked;
  const by = ownValue(columns, name);
  const column = by ?? ownValue(columns, first);
  const isSortedDown = by !== undefined && isDown;
  const heads = Object.entries(columns).map(([each, of]): Head => {
    const isSorted = of === column;
    const next = isSorted && !isSortedDown ? each + DOWN : each;
    return {
      label: of.label,
      href: linkTo(path, { ...search, sort: next === first ? '' : next }),
      sort: isSorted ? (isSortedDown ? 'descending' : 'ascending') : 'none',
    };
  });
  return {
    ordering: (isSortedDown ? column?.down : column?.up) ?? [],
    heads,
    sort: by === undefined || asked === first ? '' : asked,
  };
}
