import { createPane } from './pane.js';
import { send } from './send.js';
import { session } from './session.js';

const SIGNED_OUT = 'Sign in, or paste a token, to begin.';

const endpoint = location.pathname === '/roles_pbac' ? '/roles_pbac' : '/query';
const element = (id) => document.getElementById(id);
const [tokenField, status] = ['token', 'status'].map(element);

for (const link of document.querySelectorAll('nav a')) {
  if (link.getAttribute('href') === endpoint) link.setAttribute('aria-current', 'page');
}
document.title = `${endpoint} · Rowpost`;

const pane = createPane(element('graphiql'), endpoint, {
  query: new URLSearchParams(location.search).get('query') ?? undefined,
  onResponse: show,
});

element('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  void signIn(event.target);
});
element('sign-out').addEventListener('click', () => {
  session.end();
  showSession();
});
element('use-token').addEventListener('submit', (event) => {
  event.preventDefault();
  tokenField.blur();
});
tokenField.addEventListener('change', () => {
  const token = tokenField.value.trim();
  if (token === session.token) return;
  if (token === '') session.end();
  else session.begin(token);
  showSession();
});

showSession();

async function signIn(form) {
  const fields = Object.fromEntries(new FormData(form));
  say('');
  const response = await send('/auth', fields);
  if (!response.isOk) {
    show(response);
    return;
  }
  session.begin(response.body.access_token, fields.login);
  form.elements.password.value = '';
  showSession();
  say(response.body.message);
}

/** Begins anew: no schema, response or word of an earlier session may be taken for one of this. */
function showSession() {
  const { token, who } = session;
  tokenField.value = token;
  element('sign-in').hidden = token !== '';
  element('session').hidden = token === '';
  element('who').textContent = who;
  say(token === '' ? SIGNED_OUT : '');
  pane.begin(token);
}

/** One line on a response. Failures of HTTP say what they are; those of GraphQL are read where the response is. */
function show({ status: code, isOk, body, elapsedMs, length }) {
  const failure = isOk ? undefined : body?.error;
  const time = `${code} in ${Math.round(elapsedMs)} ms, ${length} characters`;
  if (code === 0) say('No response from the server.', true);
  else say(failure ?? time, !isOk || body?.errors !== undefined);
}

function say(text, isFailure = false) {
  status.textContent = text;
  status.className = isFailure ? 'failed' : '';
}
