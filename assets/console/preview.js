// Keeps the preview beside the form of an email up to date. Without this script the button does.
import { openEditor } from './editor.js';

const DELAY_MS = 600;
const form = document.querySelector('form[data-preview]');
const button = form.querySelector('button[formtarget]');
const editors = ['template', 'text'].map((name) => openEditor(form.elements[name]));

function refresh() {
  // A new frame each time: in the old one every preview would be a step back in the history.
  const old = document.getElementsByName(button.formTarget)[0];
  const frame = old.cloneNode(false);
  frame.removeAttribute('src');
  frame.addEventListener('load', () => learn(frame.contentDocument));
  old.replaceWith(frame);
  form.requestSubmit(button);
}

/** The preview says which names there are, which rows, and what is wrong where. */
function learn(preview) {
  const names = Object.fromEntries(
    [...preview.querySelectorAll('[data-names]')].map((list) => [
      list.dataset.names,
      [...list.querySelectorAll('code')].map((name) => name.textContent),
    ]),
  );
  const rows = preview.getElementById('rows');
  if (rows) document.getElementById('rows').replaceChildren(...rows.cloneNode(true).children);
  const marks = [...preview.querySelectorAll('[data-field]')].map((place) => ({
    field: place.dataset.field,
    line: Number(place.dataset.line ?? 0),
    isWarning: place.closest('.warnings') !== null,
    text: place.firstElementChild.textContent,
  }));
  for (const editor of editors) editor.learn(names.context ? names : undefined, marks);
}

let waiting;
function refreshSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, DELAY_MS);
}

form.addEventListener('input', ({ target }) => {
  if (target.name === 'table') form.elements.key.value = '';
  // Whom a test goes to changes nothing.
  if (target.name !== 'to') refreshSoon();
});
if (form.elements.template.value !== '') refresh();
