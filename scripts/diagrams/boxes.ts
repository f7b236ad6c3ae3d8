// Boxes on a grid, and arrows between them.
import { arrow, drawing, escaped, LINE_HEIGHT, lines, widthOf, type Point } from './svg.js';

export interface BoxDiagram {
  readonly title: string;
  readonly description: string;
  /** Widths. */
  readonly columns: readonly number[];
  readonly gap: { readonly x: number; readonly y: number };
  readonly boxes: Readonly<Record<string, BoxSpec>>;
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  /** `from -> to: label`, or with sides: `from.right -> to.left: label`. */
  readonly arrows: readonly string[];
}

interface BoxSpec {
  /** Column and row, from 0. */
  readonly at: readonly [number, number];
  /** How many columns it takes. */
  readonly span?: number;
  readonly text: string;
  readonly kind?: 'box' | 'ours' | 'store' | 'end';
}

type Side = 'top' | 'right' | 'bottom' | 'left';

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const MARGIN = 22;
const PADDING = 12;
/** Between a box and an arrow that goes around it. */
const LANE = 24;

export function drawBoxes(diagram: BoxDiagram): string {
  const boxes = placed(diagram);
  const groups = Object.entries(diagram.groups ?? {}).map(
    ([label, names]) => [label, around(names.map((name) => found(boxes, name)))] as const,
  );
  const places = new Map([...boxes, ...groups]);
  const arrows = diagram.arrows.map((text) => readArrow(text, places));
  const paths = arrows.map((each) => ({ ...each, points: route(each, shiftOf(each, arrows)) }));
  const corners = [
    ...[...places.values()].flatMap(({ x, y, width, height }) => [
      { x, y },
      { x: x + width, y: y + height },
    ]),
    ...paths.flatMap(({ points }) => points),
    ...paths.flatMap(({ points, label }) => {
      const { x, y } = middleOf(points);
      return [-1, 1].map((sign) => ({ x: x + (sign * widthOf(label)) / 2, y }));
    }),
  ];
  const left = Math.min(...corners.map(({ x }) => x)) - MARGIN;
  const top = Math.min(...corners.map(({ y }) => y)) - MARGIN;
  const width = Math.ceil(Math.max(...corners.map(({ x }) => x)) + MARGIN - left);
  const height = Math.ceil(Math.max(...corners.map(({ y }) => y)) + MARGIN - top);
  const parts = [
    `<g transform="translate(${-left} ${-top})">`,
    ...groups.map(([label, rect]) => groupOf(label, rect)),
    ...paths.map(({ points }) => arrow(points)),
    ...Object.entries(diagram.boxes).map(([name, box]) => boxOf(box, found(boxes, name))),
    ...paths.flatMap(({ points, label }) => (label === '' ? [] : [lines(label, middleOf(points), 'label')])),
    '</g>',
  ];
  return drawing(diagram, { width, height }, parts);
}

function placed({ boxes, columns, gap }: BoxDiagram): Map<string, Rect> {
  const heights: number[] = [];
  for (const { at, text } of Object.values(boxes)) {
    const height = text.split('\n').length * LINE_HEIGHT + 2 * PADDING;
    heights[at[1]] = Math.max(heights[at[1]] ?? 0, height);
  }
  return new Map(
    Object.entries(boxes).map(
      ([
        name,
        {
          at: [column, row],
          span = 1,
          text,
        },
      ]) => {
        const sum = (sizes: readonly number[], between: number): number =>
          sizes.reduce((all, size) => all + size + between, 0);
        const width = sum(columns.slice(column, column + span), gap.x) - gap.x;
        if (widthOf(text) > width - PADDING) throw new Error(`the text of ${name} is wider than its box`);
        return [
          name,
          {
            x: sum(columns.slice(0, column), gap.x),
            y: sum(heights.slice(0, row), gap.y),
            width,
            height: heights[row] ?? 0,
          },
        ];
      },
    ),
  );
}

function around(rects: readonly Rect[]): Rect {
  const x = Math.min(...rects.map((rect) => rect.x)) - 14;
  const y = Math.min(...rects.map((rect) => rect.y)) - 30;
  const right = Math.max(...rects.map((rect) => rect.x + rect.width)) + 14;
  const bottom = Math.max(...rects.map((rect) => rect.y + rect.height)) + 14;
  return { x, y, width: right - x, height: bottom - y };
}

interface Arrow {
  readonly from: Rect;
  readonly to: Rect;
  readonly sides: readonly [Side, Side];
  readonly label: string;
}

function readArrow(text: string, places: ReadonlyMap<string, Rect>): Arrow {
  const match =
    /^([^.:]+?)(?:\.(top|right|bottom|left))? -> ([^.:]+?)(?:\.(top|right|bottom|left))?(?:: ([^]*))?$/.exec(
      text,
    );
  if (!match) throw new Error(`an arrow is written "from -> to: label", not "${text}"`);
  const [, start = '', startSide, end = '', endSide, label = ''] = match;
  const [from, to] = [found(places, start), found(places, end)];
  const [a, b] = nearestSides(from, to);
  return {
    from,
    to,
    sides: [(startSide as Side | undefined) ?? a, (endSide as Side | undefined) ?? b],
    label,
  };
}

function nearestSides(from: Rect, to: Rect): readonly [Side, Side] {
  const isBeside = from.y < to.y + to.height && to.y < from.y + from.height;
  if (isBeside) return from.x < to.x ? ['right', 'left'] : ['left', 'right'];
  return from.y < to.y ? ['bottom', 'top'] : ['top', 'bottom'];
}

/** How far an arrow is moved aside, because another goes the other way between the same boxes. */
function shiftOf(one: Arrow, arrows: readonly Arrow[]): number {
  const other = arrows.findIndex(({ from, to }) => from === one.to && to === one.from);
  if (other < 0) return 0;
  return arrows.indexOf(one) < other ? -12 : 12;
}

function route({ from, to, sides: [out, into] }: Arrow, shift: number): readonly Point[] {
  const start = anchor(from, out, shift);
  const end = anchor(to, into, shift);
  if (out === into) {
    const isUpright = out === 'left' || out === 'right';
    const far = out === 'left' || out === 'top' ? Math.min : Math.max;
    const sign = out === 'left' || out === 'top' ? -1 : 1;
    if (isUpright) {
      const x = far(start.x, end.x) + sign * LANE;
      return [start, { x, y: start.y }, { x, y: end.y }, end];
    }
    const y = far(start.y, end.y) + sign * LANE;
    return [start, { x: start.x, y }, { x: end.x, y }, end];
  }
  const isOutSideways = out === 'left' || out === 'right';
  const isIntoSideways = into === 'left' || into === 'right';
  if (isOutSideways !== isIntoSideways) {
    return [start, isOutSideways ? { x: end.x, y: start.y } : { x: start.x, y: end.y }, end];
  }
  if (isOutSideways) {
    // Level where that is possible, so that neighbors of different height have a straight arrow between them.
    const overlap = shared(from.y, from.height, to.y, to.height);
    if (overlap !== undefined)
      return [
        { ...start, y: overlap + shift },
        { ...end, y: overlap + shift },
      ];
    const x = (start.x + end.x) / 2;
    return [start, { x, y: start.y }, { x, y: end.y }, end];
  }
  const overlap = shared(from.x, from.width, to.x, to.width);
  if (overlap !== undefined)
    return [
      { ...start, x: overlap + shift },
      { ...end, x: overlap + shift },
    ];
  const y = (start.y + end.y) / 2;
  return [start, { x: start.x, y }, { x: end.x, y }, end];
}

function shared(a: number, aSize: number, b: number, bSize: number): number | undefined {
  const [low, high] = [Math.max(a, b), Math.min(a + aSize, b + bSize)];
  return high - low > 10 ? (low + high) / 2 : undefined;
}

function anchor({ x, y, width, height }: Rect, side: Side, shift: number): Point {
  if (side === 'left' || side === 'right')
    return { x: side === 'left' ? x : x + width, y: y + height / 2 + shift };
  return { x: x + width / 2 + shift, y: side === 'top' ? y : y + height };
}

/** Of the longest stretch. */
function middleOf(points: readonly Point[]): Point {
  const stretches = points.slice(1).map((end, index) => ({ start: points[index] ?? end, end }));
  const lengthOf = ({ start, end }: { readonly start: Point; readonly end: Point }): number =>
    Math.abs(start.x - end.x) + Math.abs(start.y - end.y);
  const { start, end } = stretches.reduce((longest, each) =>
    lengthOf(each) > lengthOf(longest) ? each : longest,
  );
  return { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
}

function boxOf({ text, kind = 'box' }: BoxSpec, { x, y, width, height }: Rect): string {
  return `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="7"/>
${lines(text, { x: x + width / 2, y: y + height / 2 })}`;
}

function groupOf(label: string, { x, y, width, height }: Rect): string {
  return `<g class="group"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="10"/><text x="${x + 12}" y="${y + 19}">${escaped(label)}</text></g>`;
}

function found<T>(map: ReadonlyMap<string, T>, name: string): T {
  const value = map.get(name);
  if (value === undefined) throw new Error(`there is no box or group "${name}"`);
  return value;
}
