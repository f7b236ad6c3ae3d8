// Writes docs/reference/cli.md from src/commands/commandLine.ts.
import { COMMANDS, usageLines } from '../src/commands/commandLine.js';

export function commandsPage(): string {
  const sections = Object.entries(COMMANDS).map(
    ([name, command]) => `## ${name}

${command.summary}

\`\`\`text
${usageLines(name, command).join('\n')}
\`\`\`
`,
  );
  return `# The command line

\`rowpost <command>\`, or \`node dist/main.js <command>\` in a built clone. \`rowpost <command> --help\` prints what this page shows,
\`rowpost --version\` the release. Commands read the same [settings](configuration.md) as the processes. The exit status is 0 if all went well.

This page is generated from \`src/commands/commandLine.ts\` by \`npm run docs\`.

${sections.join('\n')}`;
}
