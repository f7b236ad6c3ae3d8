import { expect } from 'chai';
import { readOidcRegistration } from '../../../../src/control/oidc/oidcRegistration.js';
import { Provisioner } from '../../../../src/control/oidc/provisioner.js';
import type { Database } from '../../../../src/db/pool/database.js';
import { KeyRing } from '../../../../src/config/secrets.js';
import { AppError } from '../../../../src/foundation/errors.js';
import { OidcFixture } from '../../../api/oidc/support/oidcFixture.js';
import { TEST_SECRET_KEYS } from '../../../support/testConfig.js';
import { generator, testSeed } from '../../../support/randomNumbers.js';

const WORLDS = Number(process.env['WORLDS'] ?? 25);
const STEPS = 24;
const CAPABILITIES = ['login', 'select', 'insert', 'update', 'delete'];
const GROUPS = ['a', 'b', 'c', 'ä', 'a\u0308', 'A', ' a', '__proto__', 'constructor', 'not in the table'];
const PATHS = [
  'groups',
  'realm_access.roles',
  'a.b.c',
  'https://example.com/groups',
  'x.y',
  '__proto__',
  'groups.list',
  'groups.list.name',
];
const INHERITED = ['none', 'creation', 'full'] as const;

const KEY_RING = KeyRing.parse(TEST_SECRET_KEYS);

type Random = (below: number) => number;
type Claims = Readonly<Record<string, unknown>>;

/** A role below which others are made, as the test has set it up. */
interface Above {
  readonly roleid: number;
  readonly isAdmin: boolean;
  capabilities: ReadonlySet<string>;
  classes: ReadonlySet<number>;
}

/** A person, and what the oracle says of their role: which class comes from where. */
interface Known {
  readonly roleid: number;
  readonly byHand: Set<number>;
  /** By configuration. */
  readonly byGroup: Map<number, ReadonlySet<number>>;
}

describe('roles that sign-ins make, in random tenants', () => {
  let fixture: OidcFixture;
  let pool: Database['pool'];
  let provisioner: Provisioner;
  let names = 0;

  before(async () => {
    fixture = await OidcFixture.start();
    const { config, testDatabase, templates } = fixture.web;
    ({ pool } = testDatabase.database);
    provisioner = new Provisioner({ config, database: testDatabase.database, templates });
  });
  after(() => fixture.stop());

  const ids = async (text: string, values: readonly unknown[]): Promise<number[]> =>
    (await pool.query<{ id: number }>(text, [...values])).rows.map(({ id }) => id);
  const tenantid = (): number => fixture.tenant.tenantid;
  const createRole = async (parentid: number): Promise<number> => {
    const text = `insert into rowpost.role (tenantid, login, parentid, creatorid) values ($1, $2, $3, $3) returning roleid as id`;
    const [roleid] = await ids(text, [tenantid(), `above ${(names += 1)}`, parentid]);
    return roleid!;
  };
  const setRights = (
    roleid: number,
    capabilities: Iterable<string>,
    classes: Iterable<number>,
  ): Promise<unknown> =>
    pool.query('update rowpost.role set capabilities = $2, classes = $3 where roleid = $1', [
      roleid,
      [...capabilities],
      [...classes],
    ]);

  it('hold what the table says of their claims, what was given by hand, and nothing that those above lack', async () => {
    const random = generator(testSeed());
    const some = <T>(all: readonly T[], oneIn = 2): T[] => all.filter(() => random(oneIn) === 0);
    let admitted = 0;
    for (let world = 0; world < WORLDS; world += 1) {
      const classes: number[] = [];
      const inherited = new Map<number, string>();
      for (let index = 0; index < 6; index += 1) {
        const inherit = INHERITED[random(3)]!;
        const text =
          'insert into rowpost.role_class (tenantid, name, inherit) values ($1, $2, $3) returning classid as id';
        const [classid] = await ids(text, [tenantid(), `class ${(names += 1)}`, inherit]);
        classes.push(classid!);
        inherited.set(classid!, inherit);
      }
      const confids = await twoConfigs(fixture);
      const isAdmin = random(8) === 0;
      const parent: Above = {
        roleid: await createRole(fixture.tenant.rootRoleid),
        isAdmin,
        capabilities: new Set(),
        classes: new Set(),
      };
      const between: Above = {
        roleid: await createRole(parent.roleid),
        isAdmin: false,
        capabilities: new Set(),
        classes: new Set(),
      };
      const elsewhere = await createRole(fixture.tenant.rootRoleid);
      const change = async (above: Above): Promise<void> => {
        above.capabilities = new Set([...some(CAPABILITIES), ...(above.isAdmin ? ['admin'] : [])]);
        above.classes = new Set(some(classes));
        await setRights(above.roleid, above.capabilities, above.classes);
      };
      await change(parent);
      await change(between);
      const holds = (above: Above, classid: number): boolean => above.isAdmin || above.classes.has(classid);
      const places = new Map<number, 'below' | 'between' | 'elsewhere'>();
      const known = new Map<string, Known>();
      const tables = new Map(confids.map((confid) => [confid, new Map<string, Set<number>>()]));
      const paths = new Map<number, string>();
      const wanted = { capabilities: some(CAPABILITIES), classes: some(classes) };
      for (const confid of confids) {
        paths.set(confid, PATHS[random(PATHS.length)]!);
        await pool.query(
          `insert into rowpost.oidc_provisioning (confid, tenantid, parentid, capabilities, classes, groups_claim)
           values ($1, $2, $3, $4, $5, $6)`,
          [confid, tenantid(), parent.roleid, wanted.capabilities, wanted.classes, paths.get(confid)],
        );
      }

      for (let step = 0; step < STEPS; step += 1) {
        const confid = confids[random(2)]!;
        const table = tables.get(confid)!;
        switch (random(6)) {
          case 0: {
            const group = GROUPS[random(GROUPS.length - 1)]!;
            const classid = classes[random(classes.length)]!;
            if (table.get(group)?.has(classid)) {
              table.get(group)!.delete(classid);
              await pool.query(
                'delete from rowpost.oidc_group_class where confid = $1 and group_name = $2 and classid = $3',
                [confid, group, classid],
              );
            } else {
              table.set(group, (table.get(group) ?? new Set()).add(classid));
              await pool.query(
                'insert into rowpost.oidc_group_class (tenantid, confid, group_name, classid) values ($1, $2, $3, $4)',
                [tenantid(), confid, group, classid],
              );
            }
            break;
          }
          case 1:
            await change(random(2) === 0 ? parent : between);
            break;
          case 2: {
            // By hand, through the interface: one more class, or one less.
            const person = [...known.values()][random(known.size)];
            if (!person) break;
            const held = await classesOf(person.roleid);
            const classid = classes[random(classes.length)]!;
            const isFromGroup = [...person.byGroup.values()].some((of) => of.has(classid));
            if (isFromGroup) break;
            const changed = held.includes(classid) ? held.filter((id) => id !== classid) : [...held, classid];
            if (held.includes(classid)) person.byHand.delete(classid);
            else person.byHand.add(classid);
            const { errors } = await fixture.web.control(
              fixture.root,
              'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid } }',
              { id: String(person.roleid), input: { classes: changed } },
            );
            expect(errors).to.equal(undefined);
            break;
          }
          case 3: {
            const person = [...known.values()][random(known.size)];
            if (!person) break;
            const place = (['below', 'between', 'elsewhere'] as const)[random(3)]!;
            places.set(person.roleid, place);
            const above = { below: parent.roleid, between: between.roleid, elsewhere }[place];
            await pool.query('update rowpost.role set parentid = $2 where roleid = $1', [
              person.roleid,
              above,
            ]);
            break;
          }
          default: {
            const subId = `person ${random(3)}`;
            const path = paths.get(confid)!;
            const claims = randomClaims(path, random);
            const signedIn = await admit(confid, subId, claims);
            if (signedIn === undefined) {
              expect(typeof ownMember(claims, '_claim_names'), 'refused without a reason').to.equal('object');
              break;
            }
            admitted += 1;
            const person = known.get(`${confid} ${subId}`) ?? {
              roleid: signedIn,
              byHand: new Set([
                ...wanted.classes.filter((id) => holds(parent, id)),
                ...classes.filter((id) => inherited.get(id) === 'creation' && parent.classes.has(id)),
              ]),
              byGroup: new Map<number, ReadonlySet<number>>(),
            };
            if (!known.has(`${confid} ${subId}`)) {
              const { rows } = await pool.query<{ capabilities: string[] }>(
                'select capabilities from rowpost.role where roleid = $1',
                [signedIn],
              );
              const bound = wanted.capabilities.filter(
                (name) => parent.isAdmin || parent.capabilities.has(name),
              );
              expect(rows[0]!.capabilities).to.have.members(bound);
            }
            known.set(`${confid} ${subId}`, person);
            // Some are the same role through both configurations.
            const other = confids.find((each) => each !== confid)!;
            if (random(2) === 0 && !known.has(`${other} ${subId}`)) {
              known.set(`${other} ${subId}`, person);
              await pool.query(
                'insert into rowpost.role_oidc (tenantid, roleid, confid, sub_id) values ($1, $2, $3, $4)',
                [tenantid(), person.roleid, other, subId],
              );
            }
            expect(signedIn).to.equal(person.roleid);
            const place = places.get(person.roleid) ?? 'below';
            const given = groupsAt(claims, path)
              .flatMap((group) => [...(table.get(group) ?? [])])
              .filter((id) => place !== 'elsewhere' && holds(parent, id))
              .filter((id) => place !== 'between' || holds(between, id));
            // What was given by hand before a group would give it stays given by hand.
            person.byGroup.set(confid, new Set(given.filter((id) => !person.byHand.has(id))));
            const expected = new Set([
              ...person.byHand,
              ...[...person.byGroup.values()].flatMap((of) => [...of]),
            ]);
            expect(await classesOf(person.roleid), JSON.stringify({ claims, path })).to.have.members([
              ...expected,
            ]);
          }
        }
      }
      await setRights(parent.roleid, [], []);
      if (parent.isAdmin) continue;
      for (const key of known.keys()) {
        const [confid, ...subId] = key.split(' ');
        await admit(Number(confid), subId.join(' '), { [paths.get(Number(confid))!]: GROUPS });
      }
      for (const { roleid, byHand } of known.values())
        expect(await classesOf(roleid), 'below one without rights').to.have.members([...byHand]);
    }
    expect(admitted).to.be.greaterThan(WORLDS * 4);
  });

  const classesOf = async (roleid: number): Promise<number[]> =>
    ids('select unnest(classes) as id from rowpost.role where roleid = $1', [roleid]);

  /** Undefined if refused. */
  async function admit(confid: number, subId: string, claims: Claims): Promise<number | undefined> {
    const registration = await readOidcRegistration(pool, KEY_RING, tenantid(), confid);
    const identity = {
      tenantid: tenantid(),
      confid,
      providerid: 0,
      subId,
      isAddress: false,
      claims,
      readMore: () => Promise.resolve(undefined),
      emailAlwaysVerified: false,
    };
    try {
      return (await provisioner.admit(registration!, identity, undefined)).roleid;
    } catch (error) {
      if (error instanceof AppError && error.code === 'OIDC_NOT_ADMITTED') return undefined;
      throw error;
    }
  }
});

async function twoConfigs(fixture: OidcFixture): Promise<readonly [number, number]> {
  const providerid = await fixture.createProvider({
    auth_uri: 'http://localhost:1/auth',
    token_uri: 'http://localhost:1/token',
    jwks_uri: 'http://localhost:1/jwks',
  });
  return [await fixture.createConfig(providerid), await fixture.createConfig(providerid)];
}

/**
 * What the tenant's page says a path means: the longest name that is there, then what is left of the path in its value, or in each
 * item of a list. At its end are texts or, outside lists, an object whose names count.
 */
function groupsAt(claims: unknown, path: string | undefined, inList = false): readonly string[] {
  if (Array.isArray(claims)) {
    if (path === undefined) return claims.filter((item) => typeof item === 'string');
    return claims.flatMap((item) => groupsAt(item, path, true));
  }
  if (typeof claims === 'string') return path === undefined ? [claims] : [];
  if (claims === null || typeof claims !== 'object') return [];
  if (path === undefined) return inList ? [] : Object.keys(claims);
  const entries = Object.entries(claims as Claims)
    .filter(([name]) => path === name || path.startsWith(`${name}.`))
    .sort(([one], [other]) => other.length - one.length);
  const [entry] = entries;
  if (!entry) return [];
  const [name, value] = entry;
  return groupsAt(value, path === name ? undefined : path.slice(name.length + 1), inList);
}

function ownMember(claims: Claims, name: string): unknown {
  return Object.entries(claims).find(([key]) => key === name)?.[1];
}

/** JSON that a provider may send: the groups where the path says, or nearly, of any shape. */
function randomClaims(path: string, random: Random): Claims {
  const group = (): unknown => {
    const odd = [7, null, true, ['nested'], { name: 'a' }, ''];
    return random(5) === 0 ? odd[random(odd.length)] : GROUPS[random(GROUPS.length)];
  };
  const value = (): unknown => {
    const list = Array.from({ length: random(5) }, group);
    const objects = list.map((name) => ({ name, list: [name], x: { y: name } }));
    return [list, list, list, group(), null, { a: list }, objects, undefined][random(8)];
  };
  const steps = path.split('.');
  const claims: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  claims['sub'] = 'somebody';
  // Several places that the path could mean.
  for (let tries = 1 + random(3); tries > 0; tries -= 1) {
    let length = 1 + random(steps.length);
    let inner: Record<string, unknown> = claims;
    let rest = steps;
    while (length < rest.length) {
      const name = rest.slice(0, length).join('.');
      const next: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
      inner[name] = next;
      inner = next;
      rest = rest.slice(length);
      length = 1 + random(rest.length);
    }
    inner[rest.join('.')] = value();
  }
  if (random(12) === 0) claims['_claim_names'] = { [path]: 'src1' };
  // As it comes from a provider.
  return JSON.parse(JSON.stringify(claims)) as Claims;
}
