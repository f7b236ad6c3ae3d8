import { expect } from 'chai';
import { FUNCTIONS } from '../../../../src/graphql/filter/values/functionTable.js';
import { openShop, type Shop } from '../shop.js';

/** For each function conditions that hold for order 1. */
const EXAMPLES: Readonly<Record<string, string[]>> = {
  lower: ["lower('ÅB') = 'åb'", "lower(mood) = 'calm'"],
  upper: ["upper(status) = 'PAID'"],
  initcap: ["initcap('ada lovelace') = 'Ada Lovelace'"],
  trim: ["trim('  x ') = 'x'"],
  ltrim: ["ltrim('  x ') = 'x '"],
  rtrim: ["rtrim('  x ') = '  x'"],
  reverse: ["reverse(status) = 'diap'"],
  length: ['length(status) = 4', 'LENGTH(status) = 4'],
  left: ["left(status, 2) = 'pa'", "left(status, -1) = 'pai'"],
  right: ["right(status, 2) = 'id'"],
  substring: [
    "substring(status, 2) = 'aid'",
    "substring(status, 2, 2) = 'ai'",
    "substring(status, 2, -5) = ''",
  ],
  substr: ["substr(status, 2, 2) = 'ai'"],
  translate: ["translate('+46 (0)70-1', '+() -', '') = '460701'"],
  split_part: ["split_part('a-b-c', '-', 2) = 'b'"],
  strpos: ["strpos(status, 'i') = 3"],
  contains: ["contains(status, 'ai')", "not contains(status, '%')"],
  starts_with: ["starts_with(status, 'pa')", "not starts_with(status, 'ai')"],
  ends_with: ["ends_with(status, 'id')", "not ends_with(status, 'pa')", "ends_with(status, '')"],
  concat: ["concat(status, '-', id, null) = 'paid-1'"],
  text: ["text(id) like '1%'", "text(total) = '10.50'"],
  now: ['now() > created'],
  today: ["today() > '2024-01-01'"],
  date: ["date(created) = '2024-01-31'", "date('2024-01-31') = day"],
  interval: ["created + interval('1 day') = '2024-02-01T10:00:00Z'", 'interval(lasting) = lasting'],
  date_trunc: [
    "date_trunc('month', created) = '2024-01-01'",
    "date_trunc('YEAR', day) = '2024-01-01'",
    "date_trunc('hour', local) = '2024-01-31 10:00'",
  ],
  date_part: ["date_part('isodow', day) = 3"],
  age: ["age(created, '2024-01-30') = '1 day 10 hours'"],
  year: ['year(created) = 2024', "year('2020-01-01') = 2020", "year('infinity') is null"],
  quarter: ['quarter(day) = 1'],
  month: ['month(day) = 1'],
  week: ['week(day) = 5'],
  day: ['day(day) = 31'],
  dow: ['dow(day) = 3'],
  hour: ['hour(created) = 10', 'hour(day) = 0'],
  minute: ['minute(created) = 0'],
  epoch: ['epoch(lasting) = 172800', 'epoch(created) = 1706695200'],
  to_char: ["to_char(created, 'YYYY-MM') = '2024-01'"],
  abs: ['abs(-total) = 10.5', 'abs(id - 5) = 4'],
  sign: ['sign(-total) = -1'],
  ceil: ['ceil(total) = 11', 'ceil(qty) = 2', 'ceil(ratio) = 1'],
  floor: ['floor(total) = 10', 'floor(big) = 9007199254740993'],
  round: ['round(total) = 11', 'round(2.345, 2) = 2.35', 'round(ratio, 0) = 0'],
  trunc: ['trunc(2.349, 2) = 2.34', 'trunc(-total) = -10'],
  sqrt: ['sqrt(16) = 4'],
  exp: ['exp(0) = 1'],
  ln: ['ln(1) = 0'],
  log: ['log(100) = 2'],
  power: ['power(qty, 3) = 8'],
  number: ["number('10.5') = total", 'number(id) = 1'],
  coalesce: [
    "coalesce(null, status, 'x') = 'paid'",
    'coalesce(qty, total) = 2',
    'coalesce(total, 0) = "10.5"',
    'coalesce(raw, data) = \'{"k":1}\'',
    "coalesce(tags, ['x']) = ['red', 'blue']",
  ],
  greatest: ['greatest(qty, total, 11) = 11', 'greatest(day, created) = created'],
  least: ["least(status, 'a') = 'a'"],
  nullif: ["nullif(status, 'paid') is null", 'nullif(qty, 3) = 2'],
  json_text: [
    "json_text(data, 'n') = '1'",
    "json_text(raw, 'k') = '1'",
    "json_text(data, 'a', 'none') is null",
  ],
  cardinality: ['cardinality(numbers) = 2'],
  overlaps: ['overlaps(numbers, [2, 9])', "overlaps(['blue'], tags)"],
};

describe('filter functions', () => {
  let shop: Shop;
  before(async () => (shop = await openShop()));
  after(() => shop.db.drop());

  for (const name of FUNCTIONS.keys()) {
    it(name, async () => {
      expect(EXAMPLES[name], 'every function has an example').to.be.an('array').that.is.not.empty;
      for (const example of EXAMPLES[name]!) {
        expect(await shop.ids('orders', `id = 1 and (${example})`), example).to.deep.equal([1]);
      }
    });
  }
});
