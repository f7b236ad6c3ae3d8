// Writes what is written from the source: `npm run docs`.
// A test compares the files with what these functions return.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { printSchema } from 'graphql';
import { buildControlSchema } from '../src/control/controlSchema.js';
import { commandsPage } from './commandsPage.js';
import { configurationPage } from './configurationPage.js';
import { controlObjectsPage } from './controlObjectsPage.js';
import { DIAGRAMS } from './diagrams/index.js';
import { errorsPage } from './errorsPage.js';

export const REFERENCE_DOCS: Readonly<Record<string, () => string>> = {
  'docs/reference/cli.md': commandsPage,
  'docs/reference/configuration.md': configurationPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/roles_pbac.md': () => controlObjectsPage(buildControlSchema()),
  ...DIAGRAMS,
  'test/control/schema.graphql': () => `${printSchema(buildControlSchema())}\n`,
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [file, render] of Object.entries(REFERENCE_DOCS)) {
    writeFileSync(new URL(`../${file}`, import.meta.url), render());
  }
}
