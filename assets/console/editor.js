// Makes an editor of a field that holds a Jinja2 template: colored, with names completed and mistakes shown where they are.
const { CodeMirror } = globalThis;

const STATEMENTS = ['if', 'elif', 'else', 'endif', 'for', 'endfor', 'set', 'with', 'endwith', 'macro', 'endmacro', 'filter', 'endfilter', 'raw', 'endraw'];
const MAX_SHOWN = 100;

CodeMirror.defineMode('jinja2-html', (config) =>
  CodeMirror.overlayMode(CodeMirror.getMode(config, 'htmlmixed'), CodeMirror.getMode(config, 'jinja2')),
);

export function openEditor(field) {
  const [label] = field.labels;
  let known = { context: [], filters: [], tests: [], functions: [] };
  let widgets = [];
  const editor = CodeMirror.fromTextArea(field, {
    mode: field.name === 'template' ? 'jinja2-html' : 'jinja2',
    lineNumbers: true,
    lineWrapping: true,
    // Screen readers and phones know it as a field.
    inputStyle: 'contenteditable',
    extraKeys: { 'Ctrl-Space': 'autocomplete', Tab: false, 'Shift-Tab': false },
    hintOptions: { hint: (cm) => complete(cm, known), completeSingle: false },
  });
  const input = editor.getInputField();
  for (const [name, value] of Object.entries({ role: 'textbox', 'aria-multiline': 'true', 'aria-label': label.textContent }))
    input.setAttribute(name, value);
  const note = field.getAttribute('aria-describedby');
  if (note) input.setAttribute('aria-describedby', note);
  label.addEventListener('click', () => editor.focus());
  field.closest('details')?.addEventListener('toggle', () => editor.refresh());
  editor.on('change', () => {
    editor.save();
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  editor.on('inputRead', (cm, { text }) => {
    if (!cm.state.completionActive && /[\w.|]$/.test(text.at(-1)) && complete(cm, known)?.list.length > 0) cm.showHint();
  });

  return {
    /** @param marks `{ field, line, isWarning, text }`; without names the old ones hold */
    learn(names, marks) {
      if (names) known = names;
      for (const widget of widgets) widget.clear();
      widgets = marks
        .filter((mark) => mark.field === field.name && mark.line >= 1 && mark.line <= editor.lineCount())
        .map(({ line, text, isWarning }) => {
          const node = document.createElement('p');
          node.className = isWarning ? 'mark waiting' : 'mark';
          node.textContent = text;
          return editor.addLineWidget(line - 1, node, { handleMouseEvents: true });
        });
    },
  };
}

/** What may stand at the cursor: null outside of `{{ }}` and `{% %}`. */
function complete(cm, known) {
  const cursor = cm.getCursor();
  const before = cm.getRange({ line: 0, ch: 0 }, cursor);
  const opened = Math.max(before.lastIndexOf('{{'), before.lastIndexOf('{%'));
  if (opened < 0 || opened < Math.max(before.lastIndexOf('}}'), before.lastIndexOf('%}'))) return null;
  const inside = before.slice(opened + 2);
  const [typed, path, word] = /((?:\w+(?:\[\d*\])?\.)*)(\w*)$/.exec(inside);
  const list = choices(inside.slice(0, -typed.length || undefined).trimEnd(), path, before, opened, known);
  return {
    list: list.filter((name) => name.toLowerCase().startsWith(word.toLowerCase()) && name !== word).slice(0, MAX_SHOWN),
    from: { line: cursor.line, ch: cursor.ch - word.length },
    to: cursor,
  };
}

function choices(preceding, path, text, opened, known) {
  const loops = loopsOf(text);
  if (path !== '') return childrenOf(resolve(path.slice(0, -1), loops), known.context);
  if (preceding.endsWith('|')) return known.filters;
  if (/\bis(\s+not)?$/.test(preceding)) return known.tests;
  if (text[opened + 1] === '%' && /^[-+]?$/.test(preceding)) return STATEMENTS;
  const top = known.context.filter((name) => !name.includes('.'));
  return [...loops.keys(), ...top, ...known.functions];
}

/** What the variables of loops and of `set` stand for. */
function loopsOf(text) {
  const found = text.matchAll(/\{%[-+]?\s*(?:for\s+(\w+)\s+in|set\s+(\w+)\s*=)\s+([\w.[\]]+)/g);
  return new Map([...found].map(([, item, name, path]) => [item ?? name, path]));
}

function resolve(path, loops, depth = 0) {
  const plain = path.replaceAll(/\[\d*\]/g, '');
  const [first, ...rest] = plain.split('.');
  const meant = loops.get(first);
  return meant === undefined || depth > 10 ? plain : resolve([meant, ...rest].join('.'), loops, depth + 1);
}

function childrenOf(path, names) {
  const below = names.filter((name) => name.startsWith(`${path}.`)).map((name) => name.slice(path.length + 1));
  return below.filter((name) => !name.includes('.'));
}
