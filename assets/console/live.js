import './selection.js';

// Fetches the list of deliveries again while its page is looked at: the server renders it, this script only exchanges it.
const EVERY_MS = 5000;
const live = document.querySelector('[data-live]');

async function refresh() {
  if (document.hidden || live.contains(document.activeElement)) return;
  // What is selected would be forgotten.
  if (live.querySelector('input:checked, details[open]')) return;
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'error' }).catch(() => undefined);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  // Somebody else signed in, in another tab.
  if (userOf(page) !== userOf(document)) return;
  const fresh = page.querySelector('[data-live]');
  if (fresh && fresh.innerHTML !== live.innerHTML) live.replaceChildren(...fresh.childNodes);
}

function userOf(root) {
  return root.querySelector('form.user span')?.textContent;
}

if (live) setInterval(() => void refresh(), EVERY_MS);
