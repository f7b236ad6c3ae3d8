import { expect } from 'chai';
import type { Principal } from '../../src/db/roles/principal.js';
import { openShop, roleWith, type Shop } from '../graphql/support/shop.js';

const DDL = `
  create table team (id int primary key, name text, shown boolean not null default true, parent_id int references team);
  create table member (id int primary key, name text unique, team_id int references team, shown boolean not null default true);
  insert into team values (1, 'one', true), (2, 'secret', false), (3, 'three', true);
  insert into member values (1, 'Ada', 1, true), (2, 'Grace', 2, true), (3, 'Hidden', 1, false);
`;

describe('references do not reveal hidden rows', () => {
  let shop: Shop;
  let clerk: Principal;
  let stranger: Principal;
  const everything = ['select', 'insert', 'update', 'delete'];
  before(async () => {
    shop = await openShop(DDL);
    clerk = roleWith(shop, everything, [
      { capabilities: everything, targets: ['team'], filter: 'shown = true' },
      { capabilities: everything, targets: ['member'] },
    ]);
    stranger = roleWith(shop, everything, [{ capabilities: everything, targets: ['member'] }]);
  });
  after(() => shop.close());

  const HIDDEN = 2;
  const ABSENT = 99;
  const writes: Readonly<Record<string, (team: number) => string>> = {
    create: (team) => `mutation { create_member(input: { id: 50, team_id: ${team} }) { id } }`,
    ignore: (team) =>
      `mutation { create_member(onconflict: ignore, input: { id: 50, team_id: ${team} }) { id } }`,
    upsert: (team) =>
      `mutation { create_member(onconflict: update, input: { id: 1, team_id: ${team} }) { id } }`,
    'create many': (team) =>
      `mutation { create_many_member(input: [{ id: 51, team_id: 1 }, { id: 52, team_id: ${team}, name: "x" }]) { id } }`,
    update: (team) => `mutation { update_member(id: 1, input: { team_id: ${team} }) { id team { name } } }`,
    'a table that refers to itself': (team) =>
      `mutation { create_many_team(input: [{ id: 60, parent_id: ${team} }]) { id } }`,
  };
  for (const [name, write] of Object.entries(writes)) {
    it(`${name}: a hidden row looks like a missing one`, async () => {
      const hidden = await shop.ask(write(HIDDEN), {}, clerk);
      const absent = await shop.ask(write(ABSENT), {}, clerk);
      expect(hidden.errors?.[0]?.extensions.code).to.equal('FOREIGN_KEY_VIOLATION');
      expect(hidden.errors?.[0]?.extensions['column']).to.match(/^(team|parent)_id$/);
      expect(hidden.body).to.equal(absent.body);
    });
  }

  const allowed: Readonly<Record<string, string>> = {
    'a visible row': 'mutation { create_member(input: { id: 10, team_id: 3 }) { id } }',
    'no row': 'mutation { create_member(input: { id: 11, team_id: null }) { id } }',
    'a hidden row that it referred to before':
      'mutation { update_member(id: 2, input: { team_id: 2, name: "G" }) { id } }',
    'a hidden row that an upsert leaves as it is':
      'mutation { create_member(onconflict: update, input: { id: 2, team_id: 2, name: "H" }) { id } }',
    'rows of the same statement':
      'mutation { create_many_team(input: [{ id: 70, parent_id: 71 }, { id: 71, parent_id: 1, name: "x" }]) { id } }',
    'rows of an upsert':
      'mutation { create_many_team(onconflict: update, input: [{ id: 72, parent_id: 73 }, { id: 73, parent_id: 1, name: "x" }]) { id } }',
    itself: 'mutation { create_team(input: { id: 74, parent_id: 74 }) { id } }',
    'a row of an earlier field':
      'mutation { a: create_team(input: { id: 75 }) { id } b: create_member(input: { id: 12, team_id: 75 }) { id } }',
  };
  for (const [name, write] of Object.entries(allowed)) {
    it(`a row may refer to ${name}`, async () => {
      const { body } = await shop.ask(write, {}, clerk);
      expect(body).to.not.contain('errors');
    });
  }

  it('rows of a table that the role may not read at all can be referred to', async () => {
    const { body } = await shop.ask(writes['create']!(2).replace('50', '80'), {}, stranger);
    expect(body).to.not.contain('errors');
  });

  it('no error contains a value of a hidden row', async () => {
    const blind = roleWith(shop, everything, [
      { capabilities: everything, targets: ['member'], filter: 'shown = true' },
      { capabilities: everything, targets: ['team'] },
    ]);
    for (const onconflict of ['fail', 'update']) {
      const { body } = await shop.ask(
        `mutation { create_member(onconflict: ${onconflict}, input: { id: 3, name: "n" }) { id } }`,
        {},
        blind,
      );
      expect(body).to.contain('errors').and.not.contain('Hidden');
    }
    const { body } = await shop.ask(
      'mutation { create_member(input: { id: 90, name: "Hidden" }) { id } }',
      {},
      blind,
    );
    expect(body).to.contain('UNIQUE_VIOLATION').and.not.contain('team');
  });
});
