import { expect } from 'chai';
import {
  compileTemplate,
  createTemplatePool,
  TemplateError,
  type OutputMode,
  type Syntax,
} from 'rowpost-jinja2';
import { ENGINES } from '../../../packages/jinja2/src/liquid/engines.js';
import { FairQueue, type Group } from '../../../packages/jinja2/src/pool/fairQueue.js';
import { QueuedJob } from '../../../packages/jinja2/src/pool/queuedJob.js';

function errorOf(
  source: string,
  { syntax = 'jinja2', mode = 'text', context = '{}', steps = 2_000_000 }: Options = {},
): TemplateError {
  try {
    const limits = { steps, timeMs: 60_000 };
    compileTemplate(source, { syntax, mode, limits }).renderJson(context);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error('the template was rendered');
}

interface Options {
  readonly syntax?: Syntax;
  readonly mode?: OutputMode;
  readonly context?: string;
  readonly steps?: number;
}

describe('attack: templates that take much in one call of V8', function () {
  /** Each takes V8 a second or more in one call; twice the length, four times as long. */
  const LENGTH = 100_000;
  const TEXT = `{% set t = 'a' * ${LENGTH} %}{% set h = 'a' * ${LENGTH / 4} %}{% set p = h ~ 'b' ~ h %}{% set q = h ~ h ~ 'b' %}`;
  const CONTEXT = JSON.stringify({
    t: 'a'.repeat(LENGTH),
    p: `${'a'.repeat(LENGTH / 4)}b${'a'.repeat(LENGTH / 4)}`,
    q: `${'a'.repeat(LENGTH / 2)}b`,
  });
  for (const [search, syntax] of [
    ['{{ p in t }}', 'jinja2'],
    ['{{ t.find(p) }}', 'jinja2'],
    ['{{ t.rfind(q) }}', 'jinja2'],
    ['{{ t.count(p) }}', 'jinja2'],
    ['{{ t.partition(p) }}', 'jinja2'],
    ['{{ t.rpartition(q) }}', 'jinja2'],
    ['{{ t.split(p) }}', 'jinja2'],
    ['{{ t.rsplit(p, 1) }}', 'jinja2'],
    ["{{ t.replace(p, '') }}", 'jinja2'],
    ["{{ t | replace(p, '') }}", 'jinja2'],
    ['{% if t contains p %}{% endif %}', 'liquid'],
    ["{{ t | replace: p, '' }}", 'liquid'],
    ["{{ t | replace_first: p, '' }}", 'liquid'],
    ["{{ t | replace_last: q, '' }}", 'liquid'],
    ['{{ t | remove: p }}', 'liquid'],
    ['{{ t | remove_first: p }}', 'liquid'],
    ['{{ t | remove_last: q }}', 'liquid'],
    ['{{ t | split: p }}', 'liquid'],
  ] as const) {
    it(`a search for a long text counts before it begins: ${search} in ${syntax}`, () => {
      const source = syntax === 'jinja2' ? TEXT + search : search;
      const context = syntax === 'jinja2' ? '{}' : CONTEXT;
      const { kind, message } = errorOf(source, { syntax, context });
      expect(kind, message).to.equal('limit');
    });
  }

  it('a count that is text does not end the counting', () => {
    const { kind, message } = errorOf(
      '{% assign l = "a,b" | split: "," %}{% assign x = l | slice: 0, "0x1" %}{% for i in (1..2000) %}{% endfor %}',
      { syntax: 'liquid', steps: 1_000 },
    );
    expect(kind, message).to.equal('limit');
  });

  const LONG = `{% assign s = "xxxxxxxxxx" %}{% for i in (1..13) %}{% assign s = s | append: s %}{% endfor %}`;
  const MANY = `${LONG}{% assign a = s | split: "-" %}{% for i in (1..8) %}{% assign a = a | concat: a %}{% endfor %}`;
  const NESTED = `{% assign a = "" | split: "-" %}{% for i in (1..30) %}{% assign a = a | push: a %}{% endfor %}`;
  for (const [what, source] of [
    ['printed', `${MANY}{{ a }}`],
    ['compared', `${MANY}{% if a < a %}{% endif %}`],
    ['taken for a number', `${MANY}{{ a | plus: 1 }}`],
    ['taken for text', `${MANY}{{ a | upcase }}`],
    ['nested', `${NESTED}{{ a | size }}`],
    ['put in front', `${NESTED.replace('push', 'unshift')}{{ a | size }}`],
    [
      'named by an expression',
      `${LONG}{% assign g = r | group_by_exp: "i", "r | push: i | push: s" %}{{ g | size }}`,
    ],
  ] as const) {
    it(`a Liquid list that holds a text many times counts as its text, ${what}`, () => {
      const context = JSON.stringify({ r: Array.from({ length: 100 }, (_, i) => i) });
      const { kind, message } = errorOf(source, { syntax: 'liquid', context });
      expect(kind).to.equal('limit');
      expect(message).to.include('a list is too large');
    });
  }

  it('one template does not end the process of all', async () => {
    const pool = createTemplatePool();
    const render = (source: string, context = {}, syntax: 'jinja2' | 'liquid' = 'liquid') =>
      pool.render({
        contextJson: JSON.stringify(context),
        templates: [{ name: 't', source, syntax, mode: 'text' }],
      });
    try {
      // 335 MB of text, in a process that may have 128 MB.
      const source = MANY.replace('1..13', '1..15').replace('1..8', '1..10');
      for (const use of ['{{ a }}', '{% if a < a %}{% endif %}']) {
        const [outcome] = await render(source + use);
        expect(outcome).to.have.nested.property('error.kind', 'limit');
      }
      // Longer texts by a single call: 107 MB, 59 MB of two bytes.
      for (const [use, t, syntax] of [
        ['{% assign x = t | url_encode %}', '€'.repeat(11_900_000), 'liquid'],
        ['{% set x = t|forceescape %}', `€${'&'.repeat(11_800_000)}`, 'jinja2'],
      ] as const) {
        const [outcome] = await render(use, { t }, syntax);
        if (outcome?.ok === false) expect(outcome.error.kind).to.equal('limit');
      }
      expect(await render('{{ 1 }}')).to.deep.equal([{ ok: true, output: '1' }]);
    } finally {
      await pool.close();
    }
  });

  for (const filter of ['url_encode', 'cgi_escape', 'uri_escape', 'url_decode', 'slugify']) {
    it(`a long text of the data counts before it is converted: ${filter} in liquid`, () => {
      const context = JSON.stringify({ t: '€'.repeat(6_000_000) });
      expect(errorOf(`{{ t | ${filter} | size }}`, { syntax: 'liquid', context }).kind).to.equal('limit');
    });
  }

  it('no filter of Liquid makes more of a long text than there is, without counting it', () => {
    const length = 3_000_000;
    const context = JSON.stringify({ t: '€&'.repeat(length / 2) });
    for (const name of Object.keys(ENGINES.plain.filters)) {
      const source = `{% assign x = t | ${name}: "a", "b" %}{{ x | size }}`;
      let size = 0;
      try {
        const limits = { timeMs: 60_000 };
        size = Number(compileTemplate(source, { syntax: 'liquid', limits }).renderJson(context));
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
      }
      expect(size, name).to.be.at.most(length);
    }
  });

  it('encoding a text for an address does not end the process of all', async () => {
    const pool = createTemplatePool();
    try {
      // 107 MB at once.
      const [outcome] = await pool.render({
        contextJson: JSON.stringify({ t: '€'.repeat(11_900_000) }),
        templates: [{ name: 't', source: '{% assign x = t | url_encode %}', syntax: 'liquid', mode: 'text' }],
      });
      expect(outcome).to.have.nested.property('error.kind', 'limit');
    } finally {
      await pool.close();
    }
  });

  it('escaping a long text of the data by force counts before it is done', () => {
    const context = JSON.stringify({ t: '&'.repeat(6_000_000) });
    expect(errorOf('{% set x = t | forceescape %}', { context, mode: 'html' }).kind).to.equal('limit');
  });

  for (const filter of ['json', 'jsonify', 'inspect']) {
    it(`names count where objects are printed: ${filter}`, () => {
      const context = JSON.stringify({ o: { ['x'.repeat(3_000_000)]: 1 } });
      expect(errorOf(`{{ o | ${filter} | size }}`, { syntax: 'liquid', context }).kind).to.equal('limit');
    });
  }

  it('groups that hold the items of others count as their text', () => {
    const source = `{% assign a = r | group_by: "x" %}${'{% assign a = a | group_by: "items" %}'.repeat(30)}`;
    const { kind, message } = errorOf(source, { syntax: 'liquid', context: '{"r":[{"x":"aaaaaaaaaa"}]}' });
    expect(kind).to.equal('limit');
    expect(message).to.include('a list is too large');
  });

  it('bounds that are texts do not copy a list for nothing', () => {
    const context = JSON.stringify({ r: Array.from({ length: 900_000 }, () => 0) });
    const source = '{% assign a = r | slice: "1", "e6" %}'.repeat(3);
    expect(errorOf(source, { syntax: 'liquid', context }).kind).to.equal('limit');
  });

  for (const filter of ['sum', 'has: "x"', 'find: "x"', 'find_index: "x"', 'find_exp: "i", "i.x"']) {
    it(`items that are looked at count: ${filter}`, () => {
      const context = JSON.stringify({ r: Array.from({ length: 10_000 }, () => 0) });
      const source = `{{ r | ${filter} }}`.repeat(3);
      expect(errorOf(source, { syntax: 'liquid', context, steps: 20_000 }).kind).to.equal('limit');
    });
  }

  it('indenting a deep list counts its columns', () => {
    const deep = `{% assign a = "" | split: "-" %}{% for i in (1..400) %}{% assign b = "" | split: "-" %}{% assign a = b | push: a %}{% endfor %}`;
    for (const filter of ['json', 'inspect']) {
      const many = `${deep}{% assign c = r %}{% for i in (1..30) %}{% assign c = c | push: a %}{% endfor %}`;
      expect(
        errorOf(`${many}{{ c | ${filter}: 10 }}`, { syntax: 'liquid', context: '{"r":[]}' }).kind,
      ).to.equal('limit');
    }
  });

  it('characters of a text with emoji are read without a list of all, and counting them counts', () => {
    const context = JSON.stringify({ t: `${'a'.repeat(5_000_000)}😀b` });
    const ends = compileTemplate('{{ t[-1] }}{{ t[5000000] }}{{ t[0] }}', { limits: { timeMs: 60_000 } });
    expect(ends.renderJson(context)).to.equal('b😀a');
    expect(
      errorOf('{% for i in range(100) %}{% if t | length %}{% endif %}{% endfor %}', {
        context,
        steps: 200_000,
      }).kind,
    ).to.equal('limit');
  });

  it('a tuple that holds another twice, and so on, is no key', () => {
    const nested = `{% set t = ('a', 'a') %}${'{% set t = (t, t) %}'.repeat(40)}`;
    expect(errorOf(`${nested}{{ {t: 1} }}`).kind).to.equal('limit');
    expect(errorOf(`${nested}{{ {}[t] }}`).kind).to.equal('limit');
  });

  it('dates have no formats of their own, whose memory nothing counts', () => {
    const { DateTimeFormat } = Intl;
    let made = 0;
    const counting = new Proxy(DateTimeFormat, {
      apply: (_target, _self, args) => (
        (made += 1),
        Reflect.apply(DateTimeFormat, undefined, args) as unknown
      ),
      construct: (_target, args) => ((made += 1), Reflect.construct(DateTimeFormat, args) as object),
    });
    Intl.DateTimeFormat = counting;
    try {
      const jinja2 = "{% for i in range(100) %}{{ '2024-02-29' | date('%A %a %B %b %h %Z') }}{% endfor %}";
      const liquid = `{% for i in (1..100) %}{{ '2024-02-29' | date: '%A %a %B %b %h %Z' }}{{ '2024-02-29' | date_to_rfc822 }}
        {{ 'now' | date_to_string }}{{ 'now' | date_to_long_string: 'ordinal' }}{% endfor %}`;
      const text = compileTemplate(jinja2).render({});
      expect(text).to.match(/^Thursday Thu February Feb Feb \S+Thursday/);
      compileTemplate(liquid, { syntax: 'liquid' }).render({});
    } finally {
      Intl.DateTimeFormat = DateTimeFormat;
    }
    expect(made).to.equal(0);
  });

  for (const [what, context] of [
    ['values', `{"a":[${'[],'.repeat(600_000)}1]}`],
    ['characters', `{"a":"${'x'.repeat(12_000_000)}"}`],
  ] as const) {
    it(`data of too many ${what} are not parsed, which could end the process`, async () => {
      expect(errorOf('x', { context }).message).to.include('the data of the template is too large');
      expect(errorOf('x', { context, syntax: 'liquid' }).message).to.include('too large');
      const pool = createTemplatePool();
      try {
        const templates = [{ name: 't', source: 'x', syntax: 'jinja2', mode: 'text' }] as const;
        const [outcome] = await pool.render({ contextJson: context, templates });
        expect(outcome).to.have.nested.property('error.kind', 'limit');
        expect(outcome).to.have.nested.property('error.message').that.includes('too large');
      } finally {
        await pool.close();
      }
    });
  }

  it('data of many characters in strings are not taken for values', () => {
    const context = JSON.stringify({ a: ',[{'.repeat(1_000_000) });
    expect(compileTemplate('{{ a | length }}').renderJson(context)).to.equal('3000000');
  });

  for (const mode of ['filter', 'json'] as const) {
    it(`a value that Liquid does not have is named in a template's error, in mode ${mode}`, () => {
      const { message } = errorOf('{{ nothing }}', { syntax: 'liquid', mode });
      expect(message).to.include('the value is missing');
    });
  }
});

describe('attack: slow templates among quick ones', () => {
  /** A queue with a clock of its own. */
  class Clock {
    ms = 0;
    readonly queue = new FairQueue(2, () => this.ms);

    add(tenantid: number, jobs: number): void {
      for (let i = 0; i < jobs; i++) {
        const task = { templates: [], contextJson: undefined };
        this.queue.add(
          new QueuedJob(
            task,
            () => undefined,
            () => undefined,
            tenantid,
          ),
        );
      }
    }

    take(): Group {
      const group = this.queue.take();
      if (!group) throw new Error('no group may begin');
      return group;
    }

    settle(group: Group, ms: number): void {
      this.ms += ms;
      for (const job of group.jobs) job.settle({ outcomes: [] });
      this.queue.settle(group);
    }
  }

  const quickTenant = (clock: Clock): void => {
    clock.add(9, 1);
    clock.settle(clock.take(), 1);
  };

  it('make their tenants slow, which leave a process to others', () => {
    const clock = new Clock();
    quickTenant(clock);
    // Of sixteen jobs, one takes a second.
    for (const tenantid of [1, 2]) {
      clock.add(tenantid, 16);
      clock.settle(clock.take(), 1_000);
    }
    clock.add(1, 16);
    clock.add(2, 16);
    clock.take();
    expect(clock.queue.take()).to.equal(undefined);
    clock.add(9, 1);
    expect(clock.take().account.tenantid).to.equal(9);
  });

  it('and stay slow for a while, whatever quick ones follow', () => {
    const clock = new Clock();
    quickTenant(clock);
    for (const tenantid of [1, 2]) {
      clock.add(tenantid, 1);
      clock.settle(clock.take(), 1_000);
      for (let i = 0; i < 20; i++) {
        clock.add(tenantid, 1);
        clock.settle(clock.take(), 1);
      }
    }
    const both = (): Group | undefined => {
      clock.add(1, 1);
      clock.add(2, 1);
      const first = clock.take();
      const second = clock.queue.take();
      clock.settle(first, 1);
      if (second) clock.settle(second, 1);
      else clock.settle(clock.take(), 1);
      return second;
    };
    expect(both()).to.equal(undefined);
    clock.ms += 10_000;
    expect(both()).not.to.equal(undefined);
  });
});
