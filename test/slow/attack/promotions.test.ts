import { expect } from 'chai';
import { textAt, WebFixture, type GraphqlResult, type Json } from '../../api/webFixture.js';

const PASSWORD = 'correct horse battery';

/** What a lead may try, where `$clerk` may as much as it, and `$strong` more; both are below it. */
const CHANGES: readonly string[] = [
  'update_role(roleid: $clerk, input: {password: $password}) { roleid }',
  'update_role(roleid: $strong, input: {password: $password}) { roleid }',
  'update_role(roleid: $clerk, input: {password: $password, capabilities: ["login", "view_delivery"]}) { roleid }',
  'update_role(roleid: $clerk, input: {capabilities: ["login", "view_delivery"]}) { roleid }',
  'update_role(roleid: $clerk, input: {password: $password, classes: [$insiders]}) { roleid }',
  'update_role(roleid: $clerk, input: {password: $password, parentid: $strong}) { roleid }',
  'update_role(roleid: $clerk, input: {parentid: $strong}) { roleid }',
  'update_role(roleid: $clerk, input: {parentid: $root}) { roleid }',
  'update_role(roleid: $strong, input: {parentid: $clerk}) { roleid }',
  'update_role(roleid: $lead, input: {parentid: $strong}) { roleid }',
  'create_role(input: {login: "made", password: $password, parentid: $strong, capabilities: ["login", "select"]}) { roleid }',
  'create_role(input: {login: "made", password: $password, classes: [$insiders], capabilities: ["login", "select"]}) { roleid }',
  'update_role_class(classid: $insiders, input: {members: ["$clerk", "$strong"]}) { classid }',
  'update_role_class(classid: $own, input: {capabilities: ["view_delivery"], members: ["$lead", "$clerk"]}) { classid }',
  'update_role_class(classid: $own, input: {members: ["$lead", "$strong"]}) { classid }',
  'create_role_class(input: {name: "made", members: ["$clerk"], capabilities: ["view_delivery"]}) { classid }',
  'delete_role_class(classid: $insiders) { classid }',
  'create_policy_rule(input: {name: "made", capabilities: ["select"], targets: ["secret"], roles: [$clerk]}) { ruleid }',
];

/** Whoever sets a password can sign in: in no order may the role then have what the lead lacks. */
describe('attack: a role promotes another one, and sets its password', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let rootRoleid: number;
  let root: string;
  let runs = 0;

  before(async () => {
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    ({ tenantid, rootRoleid } = await fixture.createTenant(
      'shop',
      'create table secret (id int primary key); insert into secret values (1)',
    ));
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  const must = async (query: string, variables?: Json): Promise<GraphqlResult> => {
    const result = await fixture.control(root, query, variables);
    expect(result.errors, query).to.equal(undefined);
    return result;
  };
  const newClass = async (name: string, members: readonly number[]): Promise<string> =>
    textAt(
      await must('mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }', {
        input: { name, inherit: 'full', members: members.map(String) },
      }),
      'data.create_role_class.classid',
    );

  interface Team {
    readonly token: string;
    readonly logins: readonly string[];
    readonly filled: (change: string) => string;
  }
  async function newTeam(): Promise<Team> {
    const run = ++runs;
    const rights = [
      'login',
      'select',
      'create_role',
      'update_role',
      'create_class',
      'update_class',
      'delete_class',
      'view_class',
    ];
    const lead = await fixture.createMember(root, `lead ${run}`, rights);
    const clerk = await fixture.createMember(root, `clerk ${run}`, ['login', 'select'], lead.roleid);
    const strong = await fixture.createMember(root, `strong ${run}`, ['login', 'select'], lead.roleid);
    const insiders = await newClass(`insiders ${run}`, [strong.roleid]);
    const own = await newClass(`own ${run}`, [lead.roleid]);
    await must(
      `mutation { create_policy_rule(input: {name: "insiders ${run}", capabilities: ["select"], targets: ["secret"], classes: [${insiders}]}) { ruleid }
        update_role(roleid: ${strong.roleid}, input: {capabilities: ["login", "select", "view_delivery"]}) { roleid } }`,
    );
    const values: Readonly<Record<string, string | number>> = {
      ...{ lead: lead.roleid, clerk: clerk.roleid, strong: strong.roleid, root: rootRoleid, insiders, own },
      password: JSON.stringify(PASSWORD),
    };
    return {
      token: lead.token,
      logins: [`clerk ${run}`, `strong ${run}`, `made ${run}`],
      filled: (change) =>
        change
          .replaceAll(/\$(\w+)/g, (_all, name: string) => String(values[name]))
          .replaceAll('"made"', `"made ${run}"`),
    };
  }

  /** What the lead lacks. */
  const excessOf = async (token: string): Promise<readonly string[]> => {
    const rows = await fixture.graphql('/query', token, '{ secret { id } }');
    const deliveries = await fixture.control(token, '{ email_delivery { deliveryid } }');
    return [...(rows.errors ? [] : ['rows']), ...(deliveries.errors ? [] : ['deliveries'])];
  };
  /** What whoever signs in with the password has too much. */
  async function gained({ logins }: Team): Promise<readonly string[]> {
    const found: string[] = [];
    for (const login of logins) {
      const response = await fixture.postJson('/auth', { tenantid, login, password: PASSWORD });
      if (response.status !== 200) continue;
      const { access_token } = (await response.json()) as { access_token: string };
      for (const what of await excessOf(access_token)) found.push(`${login}: ${what}`);
    }
    return found;
  }

  it('as the root role, which gains what is looked for here', async () => {
    for (const change of CHANGES.slice(1, 3)) {
      const team = await newTeam();
      expect(await excessOf(team.token)).to.deep.equal([]);
      await must(`mutation { ${team.filled(change)} }`);
      expect(await gained(team), change).to.not.deep.equal([]);
    }
  });

  for (const first of CHANGES) {
    it(`by ${first}, with any other change`, async () => {
      let team = await newTeam();
      for (const second of CHANGES) {
        const [one, two] = [team.filled(first), team.filled(second)];
        let isChanged = false;
        for (const fields of [`one: ${one} two: ${two}`, one, two]) {
          const { errors } = await fixture.control(team.token, `mutation { ${fields} }`);
          isChanged ||= errors === undefined;
        }
        if (!isChanged) continue;
        expect(await gained(team), `${one} ${two}`).to.deep.equal([]);
        team = await newTeam();
      }
    });
  }
});
