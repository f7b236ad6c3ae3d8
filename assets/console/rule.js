// Keeps the rows of a rule's condition in step with its form, and tries it: the server renders both, this script only exchanges them.
const form = document.getElementById('rule');
const PARTS = ['problems', 'when', 'trial'];
let latest = 0;

async function exchange(action, button) {
  const sent = fieldsOf(action);
  const turn = ++latest;
  const response = await fetch(form.getAttribute('action'), { method: 'POST', body: sent, headers: { accept: 'text/html' }, redirect: 'error' }).catch(() => undefined);
  if (turn !== latest) return;
  const page = response && new DOMParser().parseFromString(await response.text(), 'text/html');
  // Somebody else signed in, in another tab, or the session has ended: the page says so.
  if (!page?.getElementById('rule') || userOf(page) !== userOf(document)) {
    if (button) form.requestSubmit(button);
    return;
  }
  // Something was typed in the meantime.
  if (String(fieldsOf(action)) !== String(sent)) {
    await exchange('show');
    return;
  }
  const focused = document.activeElement?.id;
  for (const id of PARTS) {
    // What was tried stays in sight while the condition is changed.
    if (id === 'trial' && action !== 'try') continue;
    document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes);
  }
  const next = document.querySelector('#when [autofocus]') ?? (focused ? document.getElementById(focused) : null);
  next?.focus();
  if (action === 'try') document.querySelector('#problems [role=alert], #trial [role=status]')?.scrollIntoView({ block: 'nearest' });
  document.querySelector('#trial [data-email]')?.click();
}

function fieldsOf(action) {
  const fields = new URLSearchParams(new FormData(form));
  fields.set('action', action);
  return fields;
}

function userOf(root) {
  return root.querySelector('form.user span')?.textContent;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-exchange]');
  if (!button) return;
  event.preventDefault();
  if (button.value !== 'try') form.dispatchEvent(new Event('input', { bubbles: true }));
  void exchange(button.value, button);
});
// Who types into a menu chooses with each letter.
const DELAY_MS = 400;
let waiting;
document.addEventListener('change', ({ target }) => {
  if (!target.matches('[data-exchange]')) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => void exchange('show'), DELAY_MS);
});
