import { expect } from 'chai';
import { AppError } from '../../src/foundation/errors.js';
import { requireSatisfiable } from '../../src/graphql/email/satisfiable.js';

const cases: [condition: string, operations: readonly string[], refused: boolean][] = [
  ["old.status = 'paid'", ['insert'], true],
  ["new.status = 'paid' and old.status != 'paid'", ['insert'], true],
  ["not (old.status = 'paid')", ['insert'], true],
  ["new.status = 'paid'", ['delete'], true],
  ["old.status = 'a' or old.status like 'b%'", ['insert'], true],
  ['old.status is not null', ['insert'], true],
  ['old.status != null', ['insert'], true],
  ['new.roleid = $_PRINCIPAL.roleid', ['update'], true],
  ["old.status = 'a' or new.status = 'b'", ['insert'], false],
  ['old.status = null', ['insert'], false],
  ['old is null', ['insert'], false],
  ['not (old.status is not null)', ['insert'], false],
  ["coalesce(old.status, 'x') = 'x'", ['insert'], false],
  ["old.status = 'paid'", ['insert', 'update'], false],
  ["old.status = 'paid'", ['update'], false],
  ["old.status = 'paid'", ['delete'], false],
];

describe('conditions that can never hold are refused when a rule is saved', () => {
  for (const [condition, operations, refused] of cases) {
    it(`${condition} on ${operations.join()}: ${refused ? 'refused' : 'taken'}`, () => {
      const check = (): void => requireSatisfiable(condition, operations);
      if (refused) expect(check).to.throw(AppError).with.property('code', 'FILTER_TYPE');
      else check();
    });
  }
});
