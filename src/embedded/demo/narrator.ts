/** Tells the user at the terminal what is happening. */
export interface Narrator {
  /** A new part of the story. */
  chapter(title: string): void;
  /** A completed step. */
  done(step: string): void;
  /** A GraphQL document that is sent. */
  document(text: string): void;
  /** An email that arrived `afterMs` after the change. */
  email(subject: string, recipients: readonly string[], afterMs: number): void;
  /** Something that went wrong. */
  trouble(line: string): void;
  /** Something to copy: a label, and text on separate lines. */
  pointer(label: string, text: string): void;
}

/** @param colors whether the output supports colors */
export function createNarrator(write: (text: string) => void, colors: boolean): Narrator {
  const paint = (code: string) => (text: string) => (colors ? `\u001b[${code}m${text}\u001b[0m` : text);
  const bold = paint('1');
  const dim = paint('2');
  const green = paint('32');
  const red = paint('31');
  const cyan = paint('36');
  const line = (text = ''): void => write(`${text}\n`);
  return {
    chapter: (title) => {
      line();
      line(bold(title));
    },
    done: (step) => line(`  ${green('✔')} ${step}`),
    document: (text) => {
      for (const row of text.split('\n')) line(dim(`    ${row}`));
    },
    email: (subject, recipients, afterMs) => {
      line(`  ${cyan('✉')} ${bold(subject)}`);
      line(`    to ${recipients.join(', ')} ${dim(`· after ${(afterMs / 1000).toFixed(1)} s`)}`);
    },
    trouble: (text) => line(`  ${red('✖')} ${text}`),
    pointer: (label, text) => {
      line(`  ${label}`);
      for (const row of text.split('\n')) line(`    ${cyan(row)}`);
    },
  };
}
