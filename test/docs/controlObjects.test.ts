import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import {
  buildSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
} from 'graphql';
import { at, textAt, WebFixture } from '../api/webFixture.js';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const page = read('docs/reference/roles_pbac.md');
/** By heading. */
const sections = new Map(
  page
    .split(/^##+ /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text] as const),
);

/** Where the fields of a type are documented. */
function placeOf({ name }: GraphQLNamedType): string {
  if (name === 'Query' || name === 'Mutation') return page;
  if (name === 'UtilityMutation') return sections.get('Mutations of Utility') ?? '';
  return sections.get(name) ?? sections.get(name.replace(/Input$/, '')) ?? '';
}

describe('docs/reference/roles_pbac.md', () => {
  const types = Object.values(buildSchema(read('test/control/schema.graphql')).getTypeMap()).filter(
    ({ name }) => !name.startsWith('__'),
  );

  for (const type of types.filter((each) => isObjectType(each) || isInputObjectType(each))) {
    it(`has every field and argument of ${type.name}`, () => {
      const place = placeOf(type);
      const fields: Readonly<Record<string, GraphQLField<unknown, unknown> | GraphQLInputField>> =
        type.getFields();
      const missing = Object.values(fields).filter((field) => {
        const args = 'args' in field ? field.args : [];
        const given = args.map((arg) => `${arg.name}: ${String(arg.type)}`).join(', ');
        const signature = `${field.name}${given && `(${given})`}: ${String(field.type)}`;
        const isColumn = new RegExp(
          `^\\| \`${field.name}\` \\|.*\`${String(field.type).replace(/[[\]!]/g, '\\$&')}\``,
          'm',
        ).test(place);
        return !isColumn && !place.includes(`\`${signature}\``) && !place.includes(`\n${signature}\n`);
      });
      expect(missing.map(({ name }) => name)).to.deep.equal([]);
    });
  }

  it('has every enum value and scalar', () => {
    const place = sections.get('Enums and scalars')!;
    const names = types.flatMap((type) =>
      isObjectType(type) || isInputObjectType(type)
        ? []
        : isEnumType(type)
          ? type.getValues().map(({ name }) => `\`${type.name}\` | \`${name}\``)
          : /^(Int|Float|String|Boolean|ID)$/.test(type.name)
            ? []
            : [`\`${type.name}\``],
    );
    expect(names).to.have.length.above(10);
    expect(names.filter((name) => !place.includes(`| ${name} |`))).to.deep.equal([]);
  });

  describe('compared with an installation', () => {
    let fixture: WebFixture;
    let root: string;
    let sample: Readonly<Record<string, string>>;
    before(async () => {
      fixture = await WebFixture.start();
      const { tenantid, rootRoleid } = await fixture.createTenant(
        'shop',
        'create table orders (id int primary key)',
      );
      root = (await fixture.signIn(tenantid)).access_token;
      await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
      sample = {
        email_type: '"welcome"',
        subject: '"s"',
        template: '"t"',
        recipients: '["a@example.com"]',
        sender: '"b@example.com"',
        name: '"n"',
        operations: '["insert"]',
        targets: '["orders"]',
        query_roleid: String(rootRoleid),
        capabilities: '["select"]',
        address: '"c@example.com"',
      };
    });
    after(() => fixture.stop());

    it('has its capabilities', async () => {
      const reply = await fixture.control(root, '{ capability { capability description } }');
      const rows = at(reply, 'data.capability') as { capability: string; description: string }[];
      expect(rows).to.have.length.above(10);
      const documented = sections.get('Capabilities')!.match(/^\| `.*$/gm)!;
      const found = rows.map(({ capability, description }) => `| \`${capability}\` | ${description} |`);
      expect([...documented].sort()).to.deep.equal(found.sort());
    });

    for (const [object, singular, key] of [
      ['email_types', 'email_type', 'email_type'],
      ['email_layouts', 'email_layout', 'name'],
      ['email_rule', 'email_rule', 'ruleid'],
      ['policy_rule', 'policy_rule', 'ruleid'],
      ['role_class', 'role_class', 'classid'],
      ['role', 'role', 'roleid'],
      ['email_suppression', 'email_suppression', 'address'],
    ] as const) {
      it(`says what ${object} requires, and nothing else`, async () => {
        const required = [...sections.get(object)!.matchAll(/^\| `(\w+)` .*\| required \|/gm)].map(
          (row) => row[1]!,
        );
        const create = (names: readonly string[]) => {
          const input = names.map((name) => `${name}: ${sample[name] ?? ''}`).join(', ');
          return fixture.control(root, `mutation { create_${singular}(input: { ${input} }) { ${key} } }`);
        };
        for (const left of required) {
          const { errors } = await create(required.filter((name) => name !== left));
          expect(errors?.[0]?.extensions, left).to.include({ code: 'BAD_USER_INPUT', field: left });
        }
        const reply = await create(required);
        expect(reply.errors).to.equal(undefined);
        expect(textAt(reply, `data.create_${singular}.${key}`)).not.to.equal('');
      });
    }
  });
});
