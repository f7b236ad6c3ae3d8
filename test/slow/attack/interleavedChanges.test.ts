import { expect } from 'chai';
import { createControlEngine, type ControlEngine } from '../../../src/control/controlEngine.js';
import { systemClock } from '../../../src/foundation/clock.js';
import { codeOf, textAt, WebFixture, type GraphqlResult } from '../../api/webFixture.js';
import { testKeyRing, testLog } from '../../support/testConfig.js';
import { ControlState, withoutPassing } from '../../attack/support/controlState.js';
import { Interleaving } from '../../attack/support/interleaving.js';

/** What one caller asks for, by the name of its role. */
type Change = readonly [caller: 'root' | 'pxadmin' | 'maker', mutation: string];

const MOST_STATEMENTS = 60;

/**
 * A mutation that was checked against what another changed meanwhile left what neither allows: loops of roles, rules about
 * classes that were gone, more rows than a tenant may have.
 */
describe('attack: two changes of control objects at once', () => {
  let fixture: WebFixture;
  let control: ControlEngine;
  let interleaving: Interleaving;
  let state: ControlState;
  const principals = new Map<Change[0], [number, number]>();
  const ids: Record<string, string> = {};
  let runs = 0;

  before(async () => {
    fixture = await WebFixture.start();
    const { database } = fixture.testDatabase;
    const tenant = await fixture.createTenant('shop', 'create table note (id int primary key, text text)');
    const root = (await fixture.signIn(tenant.tenantid)).access_token;
    const pxadmin = (await fixture.signIn(0, 'pxadmin', 'installation root')).access_token;
    const made = async (token: string, mutation: string, key: string): Promise<string> =>
      textAt(await fixture.control(token, `mutation { made: ${mutation} { ${key} } }`), `data.made.${key}`);
    for (const login of ['a', 'b', 'gone']) {
      ids[login] = await made(root, `create_role(input: {login: "${login}", capabilities: []})`, 'roleid');
    }
    ids['maker'] = await made(
      root,
      'create_role(input: {login: "maker", capabilities: ["login", "select", "create_role", "update_role"]})',
      'roleid',
    );
    ids['child'] = await made(
      root,
      `create_role(input: {login: "child", parentid: ${ids['maker']}, capabilities: []})`,
      'roleid',
    );
    await made(root, `delete_role(roleid: ${ids['gone']})`, 'roleid');
    ids['class'] = await made(
      root,
      `create_role_class(input: {name: "c", members: ["${ids['maker']}"]})`,
      'classid',
    );
    await made(root, 'set_email_apikey(apikey: "key")', 'apikey');
    await made(root, 'create_email_layout(input: {name: "base", template: "x"})', 'name');
    for (const name of ['hello', 'spare']) {
      await made(
        root,
        `create_email_type(input: {email_type: "${name}", template: "x", subject: "x", recipients: ["a@example.com"], sender: "b@example.com"})`,
        'email_type',
      );
    }
    const uris =
      'auth_uri: "https://p.example/", token_uri: "https://p.example/", jwks_uri: "https://p.example/"';
    ids['provider'] = await made(pxadmin, `create_oidc_providers(input: {name: "p", ${uris}})`, 'providerid');
    ids['config'] = await made(
      root,
      `create_oidc_config(input: {providerid: ${ids['provider']}, client_id: "c", client_secret: "s"})`,
      'confid',
    );
    ids['unused'] = await made(pxadmin, `create_oidc_providers(input: {name: "u", ${uris}})`, 'providerid');
    const other = await fixture.createTenant('other');
    ids['other'] = String(other.tenantid);
    // One less than a tenant may have.
    await database.pool.query(
      `insert into rowpost.email_layouts (tenantid, name, template) select $1, 'layout ' || n, 'x' from generate_series(1, 198) n`,
      [tenant.tenantid],
    );
    await database.pool.query(
      `insert into rowpost.email_type_version (tenantid, email_type, version, content, creatorid)
       select $1, 'draft ' || n, 0, '{}', $2 from generate_series(1, 249) n`,
      [tenant.tenantid, tenant.rootRoleid],
    );
    principals.set('root', [tenant.tenantid, tenant.rootRoleid]);
    principals.set('maker', [tenant.tenantid, Number(ids['maker'])]);
    principals.set('pxadmin', [0, (await fixture.signIn(0, 'pxadmin', 'installation root')).roleid]);
    const { config, engine, templates, carriers } = fixture;
    control = createControlEngine({
      database,
      config,
      engine,
      templates,
      carriers,
      log: testLog,
      clock: systemClock,
      principals: fixture.principals,
      keyRing: testKeyRing,
    });
    state = new ControlState(database.ledgerPool);
    await state.save();
    interleaving = new Interleaving(database.pool, database.ledgerPool);
  });
  after(() => fixture.stop());

  /** Every run is one pair of changes with one statement at which the second overtakes the first. */
  const changes = (): Readonly<Record<string, readonly Change[]>> => {
    const {
      a = '',
      b = '',
      gone = '',
      maker = '',
      child = '',
      config = '',
      provider = '',
      unused = '',
      other = '',
    } = ids;
    const classid = ids['class'] ?? '';
    const role = (roleid: string, input: string): Change => [
      'root',
      `update_role(roleid: ${roleid}, input: {${input}}) { roleid parentid }`,
    ];
    const layout = (name: string): Change => [
      'root',
      `create_email_layout(input: {name: "${name}", template: "x"}) { name }`,
    ];
    const draft = (name: string): Change => [
      'root',
      `Utility { save_email_draft(email_type: "${name}", input: {subject: "x"}) }`,
    ];
    const save = (subject: string): Change => [
      'root',
      `update_email_type(email_type: "hello", input: {subject: "${subject}", based_on: 1}) { subject version }`,
    ];
    return {
      'moves of roles': [role(a, `parentid: ${b}`), role(b, `parentid: ${a}`)],
      'a move below a role that is deleted': [
        role(a, `parentid: ${b}`),
        ['root', `delete_role(roleid: ${b}) { roleid }`],
      ],
      'a new role below one that is deleted': [
        ['root', `create_role(input: {login: "new", parentid: ${b}, capabilities: []}) { roleid }`],
        ['root', `delete_role(roleid: ${b}) { roleid }`],
      ],
      'a restored login and a new one': [
        role(gone, 'deleted: false'),
        ['root', 'create_role(input: {login: "gone", capabilities: []}) { login }'],
      ],
      'a grant and the loss of what is granted': [
        ['maker', `update_role(roleid: ${child}, input: {capabilities: ["select"]}) { capabilities }`],
        role(maker, 'capabilities: ["login", "create_role"]'),
      ],
      'a member of a class that another leaves': [
        ['maker', `update_role(roleid: ${child}, input: {classes: [${classid}]}) { roleid }`],
        ['root', `update_role_class(classid: ${classid}, input: {members: []}) { members { roleid } }`],
      ],
      'a rule about a class that is deleted': [
        [
          'root',
          `create_policy_rule(input: {name: "r", capabilities: ["select"], targets: ["note"], classes: [${classid}]}) { name }`,
        ],
        ['root', `delete_role_class(classid: ${classid}) { classid }`],
      ],
      'a rule about a role that is deleted': [
        [
          'root',
          `create_policy_rule(input: {name: "r", capabilities: ["select"], targets: ["note"], roles: [${a}]}) { name }`,
        ],
        ['root', `delete_role(roleid: ${a}) { roleid }`],
      ],
      'an email rule and the end of its type': [
        [
          'root',
          `create_email_rule(input: {name: "e", operations: ["insert"], targets: ["note"], email_type: "spare", query_roleid: ${a}}) { name }`,
        ],
        ['root', 'delete_email_type(email_type: "spare") { email_type }'],
      ],
      'an email rule and the end of its role': [
        [
          'root',
          `create_email_rule(input: {name: "e", operations: ["insert"], targets: ["note"], email_type: "hello", query_roleid: ${a}}) { name }`,
        ],
        ['root', `delete_role(roleid: ${a}) { roleid }`],
      ],
      'saves of the same version': [save('one'), save('two')],
      'a save and a draft': [save('one'), draft('hello')],
      'a template and the end of its layout': [
        [
          'root',
          'update_email_type(email_type: "hello", input: {template: "{% extends \\"base\\" %}"}) { template }',
        ],
        ['root', 'delete_email_layout(name: "base") { name }'],
      ],
      'the last layout that there is room for': [layout('one'), layout('two')],
      'the last draft that there is room for': [draft('one'), draft('two')],
      'suppressions of one address': [
        ['root', 'create_email_suppression(input: {address: "x@example.com", reason: "one"}) { reason }'],
        ['root', 'create_email_suppression(input: {address: "x@example.com", reason: "two"}) { reason }'],
      ],
      'a mapping and the end of its configuration': [
        ['root', `create_role_oidc(input: {roleid: ${a}, confid: ${config}, sub_id: "x"}) { sub_id }`],
        ['root', `delete_oidc_config(confid: ${config}) { confid }`],
      ],
      'a mapping and the end of its role': [
        ['root', `create_role_oidc(input: {roleid: ${a}, confid: ${config}, sub_id: "x"}) { sub_id }`],
        ['root', `delete_role(roleid: ${a}) { roleid }`],
      ],
      'a configuration and a provider that others get': [
        [
          'root',
          `create_oidc_config(input: {providerid: ${unused}, client_id: "c", client_secret: "s"}) { providerid }`,
        ],
        ['pxadmin', `update_oidc_providers(providerid: ${unused}, input: {tenantid: ${other}}) { tenantid }`],
      ],
      'providers of one name': [
        ['pxadmin', `update_oidc_providers(providerid: ${provider}, input: {name: "same"}) { name }`],
        ['pxadmin', `update_oidc_providers(providerid: ${unused}, input: {name: "same"}) { name }`],
      ],
    };
  };

  async function ask([caller, mutation]: Change): Promise<unknown> {
    const [tenantid, roleid] = principals.get(caller)!;
    const principal = await fixture.principals.load(tenantid, roleid);
    if (!principal) return 'no such caller';
    const { body, release } = await control.execute(
      principal,
      { query: `mutation { ${mutation} }` },
      { allowMutation: true },
    );
    release?.();
    const result = JSON.parse(body) as GraphqlResult;
    return withoutPassing(codeOf(result) ?? result.data);
  }

  async function outcome(responses: () => Promise<readonly [unknown, unknown] | undefined>) {
    await state.putBack();
    fixture.principals.forgetAll();
    // Both ask as what they are before the other changes it.
    for (const [tenantid, roleid] of principals.values()) await fixture.principals.load(tenantid, roleid);
    const answered = await responses();
    return answered && JSON.stringify([answered, await state.read()]);
  }

  it('end as if one had come after the other, wherever the second overtakes the first', async function () {
    const wrong: string[] = [];
    for (const [name, [one, other]] of Object.entries(changes())) {
      if (!one || !other) throw new Error('a pair is two');
      const oneFirst = await outcome(async () => [await ask(one), await ask(other)]);
      const otherFirst = await outcome(async () => {
        const second = await ask(other);
        return [await ask(one), second];
      });
      const serial = [oneFirst, otherFirst];
      for (const isSwapped of [false, true]) {
        const [first, second] = isSwapped ? [other, one] : [one, other];
        for (let statement = 1; statement <= MOST_STATEMENTS; statement++) {
          const found = await outcome(async () => {
            const responses = await interleaving.run(
              () => ask(first),
              () => ask(second),
              statement,
            );
            return responses && (isSwapped ? [responses[1], responses[0]] : responses);
          });
          if (found === undefined) break;
          runs += 1;
          if (!serial.includes(found))
            wrong.push(
              `${name}, ${isSwapped ? 'swapped, ' : ''}before statement ${statement}: ${found.slice(0, 300)}`,
            );
        }
      }
    }
    expect(runs).to.be.greaterThan(300);
    expect(wrong.length, `of ${runs} runs: ${wrong.slice(0, 5).join('; ')}`).to.equal(0);
  });
});
