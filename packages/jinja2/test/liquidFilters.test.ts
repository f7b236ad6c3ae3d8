import { expect } from 'chai';
import { Liquid } from 'liquidjs';
import { compileTemplate } from '../src/index.js';

/** LiquidJS as it is. */
const own = new Liquid({ ownPropertyOnly: true });

const DATES = [
  "'2024-02-29T23:59:01Z'",
  "'2026-12-31'",
  "'0099-03-01'",
  "'12024-01-01'",
  "'2024-06-30 22:30:00 +0800'",
  '0',
  '1700000000',
  "'no date'",
  'nil',
];
const FORMATS = [
  "'%A %B %a %b %h'",
  "'%^A|%#B|%10A|%-10B|%_10h|%010b|%12h|%EB|%OA'",
  "'%%A %% %Z %10Z %^Z'",
  "'%5%A'",
  "'%'",
  "'%c %x %X %q %s %z %j %e %-d %3N'",
  'nil',
  '5',
];
const ZONES = ['', ", 'Europe/Berlin'", ', -330', ', nil'];
const FILTERS = [
  'date_to_rfc822',
  'date_to_xmlschema',
  'date_to_string',
  'date_to_long_string',
  "date_to_string: 'ordinal'",
  "date_to_long_string: 'ordinal', 'US'",
];
const SEARCHES = [
  "{{ 'aXbX' | replace: 'X', 'y' }}{{ nil | replace: 'X', 'y' }}{{ 'abc' | replace: 'b', '$&' }}{{ 'a' | replace: 'a' }}",
  "{{ 12321 | split: 2 | join: '-' }}{{ 'abc' | split: '' | join: '-' }}",
  "{{ 'aXbX' | remove_last: 'X' }}{{ 'aXbX' | replace_first: 'X' }}{{ 'aXbX' | replace_last: 'X', 'z' }}",
  "{% assign l = 'a,b' | split: ',' %}{{ l | replace: 'a', 'b' }}{{ 'ab' | remove: l }}",
  "{% if 'abc' contains 'b' %}1{% endif %}{% if 'a' contains nil %}2{% endif %}{% if nil contains 'a' %}3{% endif %}",
  "{% assign l = 'a,b' | split: ',' %}{% if l contains 'a' %}4{% endif %}{% if 'a,b' contains l %}5{% endif %}",
  "{% if 'xundefinedx' contains zz %}6{% endif %}{% if 'x' contains empty %}7{% endif %}",
];

function outcome(render: () => string): string {
  try {
    return render();
  } catch {
    return 'an error';
  }
}

describe("templates: Liquid's filters that are replaced", () => {
  const templates = [
    ...DATES.flatMap((date) => [
      ...FORMATS.flatMap((format) => ZONES.map((zone) => `{{ ${date} | date: ${format}${zone} }}`)),
      ...FILTERS.map((filter) => `{{ ${date} | ${filter} }}`),
    ]),
    ...SEARCHES,
  ];

  it('print what LiquidJS prints', () => {
    for (const template of templates) {
      const ours = outcome(() => compileTemplate(template, { syntax: 'liquid' }).render({}));
      expect(ours, template).to.equal(outcome(() => own.parseAndRenderSync(template) as string));
    }
    expect(templates.length).to.be.above(300);
  });
});
