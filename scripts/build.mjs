// Compiles src/ to dist/. Quick when nothing changed: TypeScript remembers in dist/.tsbuildinfo what it did.
import { cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { projectDir, runNode } from './project.mjs';

const started = Date.now();
const dist = path.join(projectDir, 'dist');
removeOrphans(dist);
const tsc = path.join(projectDir, 'node_modules/typescript/bin/tsc');
const status = runNode([
  tsc,
  '-p',
  'tsconfig.json',
  '--incremental',
  '--tsBuildInfoFile',
  'dist/.tsbuildinfo',
]);
copyViews();
if (status === 0) console.log(`built dist/ in ${((Date.now() - started) / 1000).toFixed(1)} s`);
process.exit(status);

/** Output whose source is gone would still be found by an import. */
function removeOrphans(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (statSync(file).isDirectory()) removeOrphans(file);
    else if (/\.js(\.map)?$/.test(name) && !existsSync(sourceOf(file))) rmSync(file);
  }
}

function sourceOf(file) {
  const relative = path.relative(dist, file).replace(/\.js(\.map)?$/, '.ts');
  return path.join(projectDir, 'src', relative);
}

/** Templates of pages, which are read where the code that renders them lies. */
function copyViews() {
  const views = path.join(dist, 'api/console/views');
  rmSync(views, { recursive: true, force: true });
  cpSync(path.join(projectDir, 'src/api/console/views'), views, { recursive: true });
}
