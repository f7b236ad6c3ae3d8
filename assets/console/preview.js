// Keeps the preview beside the form of an email up to date. Without this script the button does.
const form = document.querySelector('form[data-preview]');
const button = form?.querySelector('button[formtarget]');
const DELAY_MS = 600;

function refresh() {
  // A new frame each time: in the old one every preview would be a step back in the history.
  const old = document.getElementsByName(button.formTarget)[0];
  const frame = old.cloneNode(false);
  frame.removeAttribute('src');
  old.replaceWith(frame);
  form.requestSubmit(button);
}

let waiting;
form?.addEventListener('input', ({ target }) => {
  // Whom a test goes to changes nothing.
  if (target.name === 'to') return;
  clearTimeout(waiting);
  waiting = setTimeout(refresh, DELAY_MS);
});
