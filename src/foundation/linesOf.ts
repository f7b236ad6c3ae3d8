/** The lines of a text, which end only at newlines: Node's reader of lines would also break one at U+2028, which JSON may contain. */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest: string[] = [];
  for await (const chunk of chunks) {
    const [first = '', ...others] = chunk.split('\n');
    rest.push(first);
    for (const other of others) {
      yield rest.join('');
      rest = [other];
    }
  }
  if (rest.some((part) => part !== '')) yield rest.join('');
}
