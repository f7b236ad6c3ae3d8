import { expect } from 'chai';
import { itWithPython, runPython } from '../../../test/support/python.js';
import { compileTemplate, TemplateError } from '../src/index.js';

/** What Python makes of each case; null if it raises an error. */
const ORACLE = `
import json, sys
def outcome(format, values, is_named):
    values = [json.loads(value) for value in values]
    try:
        return format % (dict(zip('ab', values)) if is_named else tuple(values))
    except Exception:
        return None
print(json.dumps([outcome(*case) for case in json.load(sys.stdin)]))
`;

/** As JSON, for both sides alike. */
const VALUES = [
  'null',
  'true',
  '0',
  '-7',
  '255',
  '12345678901234567890',
  '2.5',
  '-0.125',
  '"text"',
  '"é"',
  '""',
  '[1, null]',
];
const FLAGS = ['', '-', '+', ' ', '#', '0', '-0', '+#'];
const SIZES = ['', '6', '.0', '.3', '7.2'];
const TYPES = 'sradicuoxXeEfFgG';

type Case = readonly [format: string, values: readonly string[], isNamed: boolean];

function cases(): readonly Case[] {
  const directives = FLAGS.flatMap((flag) =>
    SIZES.flatMap((size) => Array.from(TYPES, (type) => flag + size + type)),
  );
  return [
    ...directives.flatMap((directive, index) => {
      const others = [VALUES[index % VALUES.length]!, VALUES[(index * 7 + 1) % VALUES.length]!];
      return ['null', ...others].flatMap((value): Case[] => [
        [`<%(a)${directive}>`, [value, '"b"'], true],
        [`<%${directive}>`, [value], false],
        [`%(b)s <%(a)${directive}> %%`, [value, 'null'], true],
      ]);
    }),
    ['%(c)s', ['null'], true],
    ['%(a)s %s', ['null'], true],
    ['%s', ['null', 'null'], false],
    ['%s %s', ['null'], false],
    ['%*d|%-*d', ['5', '1', '4', '2'], false],
    ['%.*f', ['null', '1.5'], false],
    ['%(a)*d', ['1'], true],
  ];
}

const compiled = new Map<string, ReturnType<typeof compileTemplate>>();

function rendered([format, values, isNamed]: Case): string | null {
  const names = values.map((_value, index) => `v[${index}]`);
  const argument = isNamed ? `{'a': v[0], 'b': v[1] if v|length > 1 else 0}` : `(${names.join(', ')},)`;
  const source = `{{ f % ${argument} }}`;
  const template = compiled.get(source) ?? compileTemplate(source);
  compiled.set(source, template);
  try {
    return template.renderJson(`{"f": ${JSON.stringify(format)}, "v": [${values.join(', ')}]}`);
  } catch (error) {
    if (error instanceof TemplateError) return null;
    throw error;
  }
}

describe('templates: % formats as Python does', () => {
  itWithPython('values of every kind, None among them, by name and by position', () => {
    const all = cases();
    const expected = runPython(ORACLE, all) as (string | null)[];
    const different = all.flatMap((each, index) => {
      const ours = rendered(each);
      return ours === expected[index] ? [] : [{ each, ours, python: expected[index] }];
    });
    expect(different).to.deep.equal([]);
    expect(expected.filter((text) => text !== null).length).to.be.above(2_500);
  });

  it('None of a row, as a column that is null', () => {
    const render = (template: string): string =>
      compileTemplate(template).renderJson('{"row": {"name": null, "n": 1}}');
    expect(render('{{ "%(name)s" % row }}')).to.equal('None');
    expect(render('{{ "%(n)d: %(name)5s" % row }}')).to.equal('1:  None');
  });
});
