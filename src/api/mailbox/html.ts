const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Markup that is already escaped. */
export class Html {
  constructor(readonly markup: string) {}
}

type Piece = string | number | Html | readonly Html[];

/** Tag for markup: html`<b>${text}</b>`. Text is escaped, markup is kept. Attribute values must be in double quotes. */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let markup = texts[0] ?? '';
  pieces.forEach((piece, index) => {
    markup += render(piece) + (texts[index + 1] ?? '');
  });
  return new Html(markup);
}

/** A whole page. @param styles its style sheet in assets, besides the common one */
export function htmlPage(title: string, styles: string, content: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/assets/base.css" />
        <link rel="stylesheet" href="/assets/${styles}" />
      </head>
      <body>
        ${content}
      </body>
    </html>`;
}

function render(piece: Piece): string {
  if (piece instanceof Html) return piece.markup;
  if (typeof piece === 'object') return piece.map((item) => item.markup).join('');
  return String(piece).replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}
