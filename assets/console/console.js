import { layOut } from './layOut.js';
import { showSchema } from './schema.js';

const EXAMPLES = {
  '/query': '{\n  __schema {\n    queryType {\n      fields {\n        name\n      }\n    }\n  }\n}\n',
  '/roles_pbac':
    '{\n  role(ordering: "roleid") {\n    roleid\n    login\n    capabilities\n  }\n  capability {\n    capability\n    description\n  }\n}\n',
};
const endpoint = location.pathname === '/roles_pbac' ? '/roles_pbac' : '/query';
const element = (id) => document.getElementById(id);
const [tokenField, documentField, variablesField, answer, status] = [
  'token',
  'document',
  'variables',
  'answer',
  'status',
].map(element);

// The token lives as long as the tab; the document as long as the browser keeps it.
tokenField.value = sessionStorage.getItem('token') ?? '';
documentField.value =
  new URLSearchParams(location.search).get('query') ??
  localStorage.getItem(`document ${endpoint}`) ??
  EXAMPLES[endpoint];
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
tokenField.addEventListener('change', () => {
  sessionStorage.setItem('token', tokenField.value.trim());
  void loadSchema();
});
element('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  void signIn(event.target);
});
element('search').addEventListener('input', (event) => showSchema(element('schema'), event.target.value));
if (tokenField.value !== '') void loadSchema();

async function signIn(form) {
  const { response, text } = await send('/auth', Object.fromEntries(new FormData(form)));
  if (!response.ok) {
    show(response, text);
    return;
  }
  const body = JSON.parse(text);
  tokenField.value = body.access_token;
  sessionStorage.setItem('token', body.access_token);
  form.elements.password.value = '';
  status.textContent = body.message;
  status.className = '';
  await loadSchema();
}

async function run() {
  localStorage.setItem(`document ${endpoint}`, documentField.value);
  localStorage.setItem(`variables ${endpoint}`, variablesField.value);
  const startedAt = performance.now();
  status.textContent = 'Running…';
  const { response, text } = await send(endpoint, {
    query: documentField.value,
    variables: variablesField.value,
  });
  show(response, text, performance.now() - startedAt);
}

async function loadSchema() {
  const query = `{ __schema { queryType { name } mutationType { name }
    types { name kind description fields { name description args { name type { ...t } } type { ...t } }
      inputFields { name type { ...t } } enumValues { name } } } }
    fragment t on __Type { name kind ofType { name kind ofType { name kind ofType { name kind } } } }`;
  const { response, text } = await send(endpoint, { query });
  if (!response.ok) {
    show(response, text);
    return;
  }
  const schema = JSON.parse(text).data?.__schema;
  if (schema) showSchema(element('schema'), element('search').value, schema);
}

async function send(path, body) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const token = tokenField.value.trim();
  if (token !== '' && path !== '/auth') headers.authorization = `Bearer ${token}`;
  try {
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { response, text: await response.text() };
  } catch (error) {
    return { response: { ok: false, status: 0 }, text: String(error) };
  }
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
