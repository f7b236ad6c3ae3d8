import { expect } from 'chai';
import type { Router } from 'express';
import { consoleRoutes } from '../../../src/api/console/consoleRoutes.js';
import { PRESETS } from '../../../src/control/roles/presets.js';
import type { RouteDeps } from '../../../src/api/http/routeDeps.js';
import { ConsoleBrowser } from '../../api/consoleBrowser.js';
import { ConsoleShop } from '../../api/consoleShop.js';
import { expectDocumentedTable } from '../../support/documentedTable.js';
import { PXADMIN_PASSWORD, textAt } from '../../api/webFixture.js';

/** Presets of people; Administrator is the same as `admin`. */
const PEOPLE = ['Viewer', 'Support', 'Editor'] as const;
const CALLERS = ['pxadmin', 'root', 'admin', ...PEOPLE, 'plain', 'other root', 'anonymous client'] as const;
const MEMBER_PASSWORD = 'a password of the chief';
type Caller = (typeof CALLERS)[number];

describe('who may open and do what in the console (docs/reference/permissions.md)', () => {
  let shop: ConsoleShop;
  const browsers = {} as Record<Caller, ConsoleBrowser>;
  const tokens = {} as Record<Caller, string>;
  let paths: Readonly<Record<string, string>>;
  let values: Readonly<Record<string, Readonly<Record<string, string>>>>;

  before(async () => {
    shop = await ConsoleShop.open();
    const member = async (login: string, capabilities: readonly string[]): Promise<ConsoleBrowser> => {
      await shop.fixture.control(
        shop.root,
        'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
        { input: { login, password: MEMBER_PASSWORD, capabilities } },
      );
      return shop.signedIn('shop', login, MEMBER_PASSWORD);
    };
    for (const { name, capabilities } of PRESETS)
      if (name !== 'Administrator') browsers[name as Caller] = await member(`the ${name}`, capabilities);
    browsers['pxadmin'] = await shop.signedIn('0', 'pxadmin', PXADMIN_PASSWORD);
    browsers['root'] = await shop.signedIn();
    browsers['admin'] = await member('chief', ['login', 'admin']);
    browsers['plain'] = await shop.signedIn('shop', 'clerk');
    browsers['other root'] = await shop.signedIn('other');
    browsers['anonymous client'] = new ConsoleBrowser(shop.fixture);
    for (const caller of CALLERS) {
      const html = await (await browsers[caller].get('/console/why')).text();
      tokens[caller] = /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
    }
    const order = await shop.changeOrder(7, 'new', 'paid');
    const id = await shop.deliver(order, { state: 'failed', error_code: 'TEMPLATE_FAILED' });
    const email = {
      sender: { email: 'shop@example.com' },
      recipients: [],
      cc: [],
      bcc: [],
      subject: '',
      html: 'x',
    };
    await shop.keepEmail(id, 1, email as never);
    const made = await shop.fixture.control(
      shop.root,
      `mutation { create_role(input: { login: "target", capabilities: [] }) { roleid }
        create_policy_rule(input: { name: "p", capabilities: ["select"], targets: ["orders"] }) { ruleid }
        create_role_class(input: { name: "staff" }) { classid } }`,
    );
    const role = textAt(made, 'data.create_role.roleid');
    values = { ...VALUES, 'POST /console/sessions': { roleid: role, action: 'all' } };
    paths = {
      'GET /console/sessions': `/console/sessions?roleid=${role}`,
      'GET /console/deliveries/:deliveryid': `/console/deliveries/${id}`,
      'GET /console/deliveries/:deliveryid/email': `/console/deliveries/${id}/email`,
      'GET /console/deliveries/:deliveryid/email/body': `/console/deliveries/${id}/email/body`,
      'GET /console/deliveries/:deliveryid/sent': `/console/deliveries/${id}/sent`,
      'GET /console/deliveries/:deliveryid/sent/body': `/console/deliveries/${id}/sent/body`,
      'GET /console/deliveries/:deliveryid/redrive': `/console/deliveries/${id}/redrive`,
      'POST /console/deliveries/:deliveryid/redrive': `/console/deliveries/${id}/redrive`,
      'GET /console/emails/edit': '/console/emails/edit?type=confirmation',
      'GET /console/emails/versions': '/console/emails/versions?type=confirmation',
      'GET /console/emails/starters/:name': '/console/emails/starters/order',
      'GET /console/rules/edit': `/console/rules/edit?id=${shop.ruleid}`,
      'POST /console/rules/preview': '/console/rules/preview',
      'GET /console/roles/edit': `/console/roles/edit?id=${role}`,
      'GET /console/policies/edit': `/console/policies/edit?id=${textAt(made, 'data.create_policy_rule.ruleid')}`,
      'GET /console/classes/edit': `/console/classes/edit?id=${textAt(made, 'data.create_role_class.classid')}`,
      'GET /console/tables/:name': '/console/tables/orders',
      'POST /console/tables/:name': '/console/tables/orders',
      'GET /console/tables/:name/rows': '/console/tables/orders/rows',
      'GET /console/tables/:name/rows/edit': '/console/tables/orders/rows/edit',
      'POST /console/tables/:name/rows/edit': '/console/tables/orders/rows/edit',
    };
  });
  after(() => shop.close());

  async function tryRoute(caller: Caller, route: string): Promise<string> {
    const [method = '', pattern = ''] = route.split(' ');
    const path = paths[route] ?? pattern;
    const browser = browsers[caller];
    const { status, headers } =
      method === 'GET'
        ? await browser.get(path)
        : await browser.post(path, { ...values[route], csrf: tokens[caller] });
    if (status === 401 || headers.get('location')?.startsWith('/console/sign-in') === true) return 'sign-in';
    if (status === 403) return 'no';
    if (status === 404) return 'hidden';
    expect(status, `${caller}: ${route}`).to.be.oneOf([200, 303, 400, 409]);
    return 'yes';
  }

  async function table(): Promise<string> {
    const rows: string[] = [];
    for (const route of routesOf(CONSOLE_ROUTES).toSorted()) {
      const cells: string[] = [];
      for (const caller of CALLERS) cells.push(await tryRoute(caller, route));
      rows.push(`| \`${route}\` | ${cells.join(' | ')} |`);
    }
    const head = `| | ${CALLERS.join(' | ')} |\n|${' --- |'.repeat(CALLERS.length + 1)}`;
    return `${head}\n${rows.join('\n')}`;
  }

  it('matches the documentation for every page (UPDATE_DOCS=1 regenerates it)', async () => {
    expectDocumentedTable('pages', await table());
  });
});

/** Of forms: what is allowed or not before it is right or wrong. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'POST /console/addresses': { action: 'add', address: 'gone@example.com' },
  'POST /console/brand': { name: 'Shop' },
  'POST /console/emails/edit': { saved: 'confirmation', subject: 'x', template: 'x' },
  'POST /console/emails/preview': { saved: 'confirmation', subject: 'x', template: 'x' },
};

// Nothing of it is called: the routes are read off.
const anything: unknown = new Proxy(() => anything, { get: () => anything });
const CONSOLE_ROUTES = consoleRoutes({
  ...Object.fromEntries(['limits', 'consoleSessions', 'control', 'engine'].map((name) => [name, anything])),
  config: { baseUrl: 'http://console.example', mailTransport: 'mailbox' },
} as unknown as RouteDeps);

/** `GET /console/rules`, without the sign-in, which is for clients, and what is no page. */
function routesOf(router: Router): readonly string[] {
  return router.stack.flatMap(({ route, handle }): readonly string[] => {
    if (!route) return 'stack' in handle ? routesOf(handle as unknown as Router) : [];
    const { path, methods } = route as unknown as {
      path: string | string[];
      methods: Record<string, boolean>;
    };
    const pages = [path]
      .flat()
      .filter((each) => each.startsWith('/console') && !/sign-(in|out)$|sign-in\/|\*/.test(each));
    return pages.flatMap((page) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${page}`));
  });
}
