import { fileURLToPath } from 'node:url';
import { Liquid } from 'liquidjs';

/** Renders the program's own templates, never a tenant's, so there are no limits. */
const liquid = new Liquid({
  // Resolves from both src/api/console and dist/api/console, where the build copies them.
  root: fileURLToPath(new URL('./views', import.meta.url)),
  extname: '.liquid',
  cache: true,
  // All output is escaped for text and double-quoted attributes. No template uses `raw`, which a test ensures.
  outputEscape: 'escape',
  ownPropertyOnly: true,
  strictFilters: true,
  jsTruthy: true,
});

/** @returns the HTML of `views/<name>.liquid` */
export async function renderView(name: string, values: object): Promise<string> {
  return (await liquid.renderFile(name, values)) as string;
}
