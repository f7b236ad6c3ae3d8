// Who sends what to whom, one after the other.
import { arrow, drawing, LINE_HEIGHT, lines, widthOf } from './svg.js';

export interface SequenceDiagram {
  readonly title: string;
  readonly description: string;
  readonly width: number;
  readonly participants: Readonly<Record<string, string>>;
  /** `from -> to: text`; `name: text` is what one does alone. */
  readonly steps: readonly string[];
}

const MARGIN = 22;
const HEAD_HEIGHT = 40;
const GAP = 16;

export function drawSequence(diagram: SequenceDiagram): string {
  const names = Object.keys(diagram.participants);
  const space = diagram.width / names.length;
  const xOf = (name: string): number => {
    const index = names.indexOf(name);
    if (index < 0) throw new Error(`there is no participant "${name}"`);
    return MARGIN + space * (index + 0.5);
  };
  let y = MARGIN + HEAD_HEIGHT + GAP;
  const steps = diagram.steps.map((step) => {
    const [, from = '', to, text = ''] = /^(\w+)(?: -> (\w+))?: ([^]+)$/.exec(step) ?? [];
    const height = text.split('\n').length * LINE_HEIGHT;
    if (to === undefined) {
      const width = widthOf(text) + 16;
      const x = Math.min(xOf(from) - width / 2, MARGIN + diagram.width - width);
      const box = `<rect class="ours" x="${x}" y="${y}" width="${width}" height="${height + 12}" rx="6"/>
${lines(text, { x: x + width / 2, y: y + height / 2 + 6 }, 'alone')}`;
      y += height + 12 + GAP;
      return box;
    }
    const middle = (xOf(from) + xOf(to)) / 2;
    const label = lines(text, { x: middle, y: y + height / 2 }, 'label');
    y += height + 6;
    const line = arrow([
      { x: xOf(from), y },
      { x: xOf(to), y },
    ]);
    y += GAP;
    return `${line}\n${label}`;
  });
  const heads = Object.entries(diagram.participants).map(([name, text]) => {
    const x = xOf(name);
    const width = space - 20;
    if (widthOf(text) > width) throw new Error(`the name of ${name} is wider than its box`);
    return `<path class="lifeline" d="M${x} ${MARGIN + HEAD_HEIGHT} L${x} ${y}"/>
<rect class="box" x="${x - width / 2}" y="${MARGIN}" width="${width}" height="${HEAD_HEIGHT}" rx="7"/>
${lines(text, { x, y: MARGIN + HEAD_HEIGHT / 2 })}`;
  });
  return drawing(diagram, { width: diagram.width + 2 * MARGIN, height: y + MARGIN }, [...heads, ...steps]);
}
