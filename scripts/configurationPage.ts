// Writes docs/reference/configuration.md from src/config/settings.ts.
import { SETTINGS } from '../src/config/settings.js';
import type { Setting } from '../src/config/settings/setting.js';

export function configurationPage(): string {
  const rows = Object.values<Setting<unknown>>(SETTINGS).map(({ env, fallback, fallbackText, doc }) => {
    const shown =
      fallbackText ??
      (fallback === undefined
        ? 'unset'
        : `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``);
    return `| \`${env}\` | ${shown} | ${doc} |`;
  });
  return `# Configuration

Everything is set by environment variables, read once at start. An invalid value stops the start, and all problems
are listed at once. With \`NODE_ENV=production\` every unsafe default is refused as well.

\`DATABASE_URL\`, \`DATABASE_DIRECT_URL\`, \`DATABASE_REPLICA_URLS\`, \`DIRECTORY_URL\`, \`TARGET_DATABASE_URL\`, \`REDIS_URL\`, \`SECRET_KEYS\` and \`PXADMIN_PASSWORD\` may be in files instead, as containers mount secrets:
\`<name>_FILE\` names the file.

This page is generated from \`src/config/settings.ts\` by \`npm run docs\`.

| Variable | Default | Meaning |
| --- | --- | --- |
${rows.join('\n')}
`;
}
