// An impatient second click must not send a form again: it would add a second row, and send a second email.
const WAIT_MS = 10_000;
let sent = -WAIT_MS;

document.addEventListener('submit', (event) => {
  const target = event.submitter?.formTarget || event.target.target;
  // The page stays, so another form of it may be sent next.
  const stays = target !== '' || event.submitter?.hasAttribute('data-download');
  if (event.target.method !== 'post' || stays) return;
  if (event.timeStamp - sent < WAIT_MS) event.preventDefault();
  else sent = event.timeStamp;
});
// Back to a page that the browser kept as it was.
addEventListener('pageshow', () => (sent = -WAIT_MS));
