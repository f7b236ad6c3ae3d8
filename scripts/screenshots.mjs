// npm run docs:screenshots: the pictures of the console in docs/images, taken in Chromium from a demo that runs for them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { prepareProject, projectDir } from './project.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** The demo's emails all arrive. This one fails: its template names a column that the table lacks. */
const FAILING_EMAIL = `mutation {
  create_email_type(input: { email_type: "receipt", subject: "Your receipt", sender: "Paper & Ink <shop@example.com>",
    undefined: "strict", recipients: ["ada@example.com"], template: "<p>Total: {{ records.new.total }}</p>" }) { email_type }
  create_email_rule(input: { name: "send a receipt", operations: ["insert"], targets: ["orders"],
    email_type: "receipt", query_roleid: 2 }) { ruleid }
}`;
const ORDER =
  'mutation { create_orders(input: { order_number: "R-1002", customer_id: 2 }) { order_number } }';

/** Each picture with its page of the console and what is on it once it is complete. */
const PICTURES = [
  { name: 'overview', page: '/overview?days=7', part: '#causes + * a' },
  { name: 'rule', page: '/rules/edit?id=1', part: '#rule' },
  { name: 'deliveries', page: '/deliveries', part: 'tbody .state.failed' },
  {
    name: 'email',
    page: '/emails/edit?type=order_shipped',
    part: 'text=On its way to London',
    isInFrame: true,
  },
  { name: 'why', page: '/why?table=orders&key=R-1002', part: 'text=send a receipt' },
];

await prepareProject();
const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-screenshots-'));
const demo = spawn(process.execPath, [path.join(projectDir, 'dist/main.js'), 'demo'], { cwd: folder });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
try {
  const shop = await readWelcome();
  await send(shop, '/roles_pbac', FAILING_EMAIL);
  await send(shop, '/query', ORDER);
  await takePictures(shop);
} finally {
  await browser.close();
  demo.kill('SIGTERM');
  await once(demo, 'exit');
  await rm(folder, { recursive: true });
}

/** Where the demo is and how to sign in, from what it prints when it is ready. */
async function readWelcome() {
  let printed = '';
  for await (const chunk of demo.stdout) {
    printed += chunk;
    const [, address, login, password, token] =
      /(http:\S+)\/console\n\s*tenant 1, login (\S+), password (\S+)\n[^]*TOKEN=(\S+)\n/.exec(printed) ?? [];
    if (token) return { address, login, password, token };
  }
  throw new Error(`the demo ended:\n${printed}`);
}

async function send({ address, token }, endpoint, query) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const response = await fetch(address + endpoint, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query }),
  });
  const { errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
}

async function takePictures({ address, login, password }) {
  const page = await browser.newPage({ viewport: { width: 1120, height: 760 }, colorScheme: 'light' });
  await page.goto(`${address}/console/sign-in?tenant=1`);
  await page.getByLabel('Login').fill(login);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  for (const { name, page: at, part, isInFrame } of PICTURES) {
    await page.goto(`${address}/console${at}`);
    await (isInFrame ? page.frameLocator('iframe').frameLocator('iframe').first() : page)
      .locator(part)
      .first()
      .waitFor();
    await save(page, name);
  }
  await page.goto(`${address}/console/deliveries?type=order_shipped`);
  await page.getByRole('link', { name: 'Your order R-1001 is on its way' }).click();
  await save(page.locator('.timeline'), 'timeline');
}

async function save(shown, name) {
  const file = path.join(projectDir, `docs/images/console-${name}.png`);
  await shown.screenshot({ path: file });
  console.log(file);
}
