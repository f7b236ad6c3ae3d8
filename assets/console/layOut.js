/**
 * Sets JSON text out over lines. It works on the text, not on the value: a number that is longer than JavaScript's keeps
 * every digit. Throws when the text is not JSON.
 */
export function layOut(text) {
  JSON.parse(text);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  let depth = 0;
  let out = '';
  const newLine = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (token === '{' || token === '[') {
      depth += 1;
      out += next === '}' || next === ']' ? token : token + newLine();
    } else if (token === '}' || token === ']') {
      depth -= 1;
      const isEmpty = tokens[index - 1] === '{' || tokens[index - 1] === '[';
      out += isEmpty ? token : newLine() + token;
    } else if (token === ',') {
      out += token + newLine();
    } else {
      out += token === ':' ? ': ' : token;
    }
  });
  return out;
}
