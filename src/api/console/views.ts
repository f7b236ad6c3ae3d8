import { fileURLToPath } from 'node:url';
import { Liquid } from 'liquidjs';

/** Liquid's own settings, for templates that are part of this program: no limits, and nothing of a tenant's is a template. */
const liquid = new Liquid({
  // Resolves from both src/api/console and dist/api/console, where the build copies them.
  root: fileURLToPath(new URL('./views', import.meta.url)),
  extname: '.liquid',
  cache: true,
  // Every output is escaped, in text and within double quotes alike. No template says `raw`; a test sees to it.
  outputEscape: 'escape',
  ownPropertyOnly: true,
  strictFilters: true,
  jsTruthy: true,
});

/** @returns the HTML of `views/<name>.liquid` */
export async function renderView(name: string, values: object): Promise<string> {
  return (await liquid.renderFile(name, values)) as string;
}
