// What both kinds of diagrams draw with. Colors follow the reader's light or dark mode, also where the file is an <img>.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export const FONT_SIZE = 14;
export const LINE_HEIGHT = 18;

const STYLE = `
  svg { --back: #ffffff; --text: #1f2430; --faint: #5b6472; --line: #6b7484; --box: #f3f5f9; --edge: #c3cad6; --ours: #e6ecff; --ours-edge: #3b5bdb; --store: #e3f4ea; --store-edge: #2b8a57; --end: #fbeede; --end-edge: #b7701a }
  @media (prefers-color-scheme: dark) {
    svg { --back: #1b1e26; --text: #e8eaf0; --faint: #a7afbd; --line: #98a1b3; --box: #272b36; --edge: #4a5162; --ours: #243056; --ours-edge: #8aa2ff; --store: #1d3a2b; --store-edge: #6cc796; --end: #43321d; --end-edge: #e0a55a }
  }
  text { font: ${FONT_SIZE}px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: var(--text) }
  .back { fill: var(--back) }
  .label, .group text { font-size: 12.5px; fill: var(--faint) }
  .label { paint-order: stroke; stroke: var(--back); stroke-width: 5px; stroke-linejoin: round }
  .first { font-weight: 600 }
  rect { stroke-width: 1.2 }
  .box { fill: var(--box); stroke: var(--edge) }
  .ours { fill: var(--ours); stroke: var(--ours-edge) }
  .store { fill: var(--store); stroke: var(--store-edge) }
  .end { fill: var(--end); stroke: var(--end-edge) }
  .group rect { fill: none; stroke: var(--edge); stroke-dasharray: 5 4 }
  .arrow { fill: none; stroke: var(--line); stroke-width: 1.4 }
  .lifeline { stroke: var(--edge); stroke-dasharray: 3 4 }
  .head { fill: var(--line) }
`;

/** An SVG with a title and a description, which screen readers read. */
export function drawing(
  { title, description }: { readonly title: string; readonly description: string },
  { width, height }: { readonly width: number; readonly height: number },
  parts: readonly string[],
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description.trim())}</desc>
<style>${STYLE}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0 0.6 L8 4 L0 7.4 z"/></marker></defs>
<rect class="back" width="${width}" height="${height}" rx="10"/>
${parts.join('\n')}
</svg>
`;
}

/** Lines of text around a point. The first one is bold if there are more. */
export function lines(text: string, { x, y }: Point, className = ''): string {
  const all = text.split('\n');
  const top = y - ((all.length - 1) * LINE_HEIGHT) / 2 + FONT_SIZE * 0.36;
  return all
    .map((line, index) => {
      const classes = [className, className === '' && all.length > 1 && index === 0 ? 'first' : '']
        .join(' ')
        .trim();
      return `<text${classes && ` class="${classes}"`} x="${x}" y="${rounded(top + index * LINE_HEIGHT)}" text-anchor="middle">${escaped(line)}</text>`;
    })
    .join('\n');
}

export function arrow(points: readonly Point[]): string {
  const path = points
    .map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${rounded(x)} ${rounded(y)}`)
    .join(' ');
  return `<path class="arrow" d="${path}" marker-end="url(#head)"/>`;
}

/** An upper bound for fonts in use: nobody's text leaves its box. */
export function widthOf(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length * FONT_SIZE * 0.58));
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
