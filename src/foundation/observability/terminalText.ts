/**
 * Names and messages of tenants reach the operator's terminal, to which some characters are commands: they move the cursor, hide
 * text, or reply for the user. Files and pipes get them as they are.
 */
export function guardTerminal(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>): void {
  if (!stream.isTTY) return;
  const write = stream.write.bind(stream) as (chunk: unknown, ...others: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...others: unknown[]) =>
    write(typeof chunk === 'string' ? harmless(chunk) : chunk, ...others);
}

/** Of escape sequences, those of the demo are left, which hide nothing. */
function harmless(text: string): string {
  return text.replace(COMMANDS, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

// eslint-disable-next-line no-control-regex -- they are what it looks for
const COMMANDS = /\u001b(?!\[(?:[012]|3[126])m)|[\0-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;
