/** Runs a command in this process. @returns what it printed */
export async function capturedOutput(run: () => Promise<number>): Promise<string> {
  const write = process.stdout.write.bind(process.stdout);
  let printed = '';
  process.stdout.write = (text: string | Uint8Array) => {
    printed += String(text);
    return true;
  };
  try {
    const status = await run();
    if (status !== 0) throw new Error(`the command's status is ${status}`);
  } finally {
    process.stdout.write = write;
  }
  return printed;
}
