/** What a worker needs of the template pool. Rendering happens off the event loop, bounded in time and memory. */
export interface Renderer {
  /** Renders all templates with one context. @returns in their order. Rejects only when the pool is broken or closed. */
  render(request: RenderRequest): Promise<readonly RenderOutcome[]>;
}

export interface RenderRequest {
  /** JSON text of an object: the names that templates see. */
  readonly contextJson: string;
  readonly templates: readonly RenderTemplate[];
}

export interface RenderTemplate {
  /** As error messages call it. */
  readonly name: string;
  readonly source: string;
  readonly syntax: 'jinja2' | 'liquid';
  /**
   * How values are kept from changing what surrounds them: `html` escapes for HTML, `json` inside JSON texts, `filter`
   * keeps each value one literal of a filter expression, `text` leaves them as they are.
   */
  readonly mode: 'text' | 'html' | 'filter' | 'json';
}

export type RenderOutcome =
  | { readonly ok: true; readonly output: string }
  | {
      readonly ok: false;
      readonly error: { readonly message: string; readonly line: number; readonly column: number };
    };
