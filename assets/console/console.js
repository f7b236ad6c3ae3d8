import { showDocs } from './docs.js';
import { firstQuery } from './firstQuery.js';
import { layOut } from './layOut.js';
import { session } from './session.js';

const INTROSPECTION = `{ __schema { queryType { name } mutationType { name }
  types { name kind description fields { name description args { name type { ...t } } type { ...t } }
    inputFields { name type { ...t } } enumValues { name } } } }
  fragment t on __Type { name kind ofType { name kind ofType { name kind ofType { name kind } } } }`;

const endpoint = location.pathname === '/roles_pbac' ? '/roles_pbac' : '/query';
const element = (id) => document.getElementById(id);
const [tokenField, documentField, variablesField, answer, status, docs] = [
  'token',
  'document',
  'variables',
  'answer',
  'status',
  'docs',
].map(element);
let schema;

// The document lasts as long as the browser keeps it.
documentField.value =
  new URLSearchParams(location.search).get('query') ?? localStorage.getItem(`document ${endpoint}`) ?? '';
variablesField.value = localStorage.getItem(`variables ${endpoint}`) ?? '';
for (const link of document.querySelectorAll('nav a')) {
  if (link.getAttribute('href') === endpoint) link.setAttribute('aria-current', 'page');
}
document.title = `${endpoint} · Rowpost`;

element('run').addEventListener('click', run);
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  void run();
});
element('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  void signIn(event.target);
});
element('sign-out').addEventListener('click', () => {
  session.end();
  clearAnswer();
  showSession();
  docs.replaceChildren(hint('Sign in to see what there is.'));
  schema = undefined;
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
  clearAnswer();
  showSession();
  void loadSchema();
});
element('search').addEventListener('input', showSchema);
element('toggle-docs').addEventListener('click', () => {
  const pane = element('docs-pane');
  pane.hidden = !pane.hidden;
  showDocsState();
});

showSession();
showDocsState();
void loadSchema();

async function signIn(form) {
  const fields = Object.fromEntries(new FormData(form));
  clearAnswer();
  const { response, text } = await send('/auth', fields);
  if (!response.ok) {
    show(response, text);
    return;
  }
  const body = JSON.parse(text);
  session.begin(body.access_token, fields.login);
  form.elements.password.value = '';
  showSession();
  status.textContent = body.message;
  await loadSchema();
}

async function run() {
  localStorage.setItem(`document ${endpoint}`, documentField.value);
  localStorage.setItem(`variables ${endpoint}`, variablesField.value);
  const startedAt = performance.now();
  clearAnswer();
  status.textContent = 'Running…';
  const { response, text } = await send(endpoint, {
    query: documentField.value,
    variables: variablesField.value,
  });
  show(response, text, performance.now() - startedAt);
}

async function loadSchema() {
  if (session.token === '') return;
  const { response, text } = await send(endpoint, { query: INTROSPECTION });
  const loaded = response.ok ? JSON.parse(text).data?.__schema : undefined;
  if (!loaded) {
    show(response, text);
    return;
  }
  schema = loaded;
  showSchema();
  if (documentField.value.trim() === '') documentField.value = firstQuery(schema);
}

async function send(path, body) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  if (session.token !== '' && path !== '/auth') headers.authorization = `Bearer ${session.token}`;
  try {
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { response, text: await response.text() };
  } catch (error) {
    return { response: { ok: false, status: 0 }, text: String(error) };
  }
}

function showSession() {
  const { token, who } = session;
  tokenField.value = token;
  element('sign-in').hidden = token !== '';
  element('session').hidden = token === '';
  element('who').textContent = who;
}

function showSchema() {
  if (schema) showDocs(docs, schema, element('search').value);
}

function showDocsState() {
  element('toggle-docs').setAttribute('aria-expanded', String(!element('docs-pane').hidden));
}

function hint(text) {
  const line = document.createElement('p');
  line.className = 'hint';
  line.textContent = text;
  return line;
}

/** What was said of an earlier request must not be taken for a word on this one. */
function clearAnswer() {
  answer.textContent = '';
  status.textContent = '';
  status.className = '';
}

function show(response, text, elapsedMs) {
  let shown = text;
  let failed = !response.ok;
  try {
    shown = layOut(text);
    failed ||= JSON.parse(text).errors !== undefined;
  } catch {
    failed = true;
  }
  answer.textContent = shown;
  const time = elapsedMs === undefined ? '' : ` in ${Math.round(elapsedMs)} ms`;
  status.textContent = response.status === 0 ? 'No answer' : `${response.status}${time}, ${text.length} characters`;
  status.className = failed ? 'failed' : '';
}
