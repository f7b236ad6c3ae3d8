import { expect } from 'chai';
import { createTemplatePool } from '../../src/templates/index.js';
import { isLight } from '../../src/templates/pool/lightTask.js';
import type { TemplateRequest } from '../../src/templates/pool/templateJob.js';

const request = (source: string): TemplateRequest => ({
  name: 'field',
  source,
  syntax: 'jinja2',
  mode: 'filter',
});
const task = (source: string, contextJson = '{}') => ({ contextJson, templates: [request(source)] });

describe('templates: what is rendered without a thread', () => {
  it('is text that names values, and nothing else', () => {
    for (const source of [
      '',
      'plain',
      'order_id = {{ records.new.order_id }}',
      '{{a}}{{ b.c }}',
      'a "b" \'c\'\n',
    ])
      expect(isLight(task(source)), source).to.equal(true);
    for (const source of [
      '{% for i in range(9) %}{{ i }}{% endfor %}',
      '{{ a|upper }}',
      '{{ a() }}',
      '{{ a[0] }}',
      '{{ a * 9 }}',
      '{{ 1 }}',
      "{{ 'a' }}",
      '{{ a',
      '{# #}',
      '{',
      '}}',
    ])
      expect(isLight(task(source)), source).to.equal(false);
  });

  it('is little: few names in short texts, with a small context', () => {
    expect(isLight(task('x'.repeat(201)))).to.equal(false);
    expect(isLight(task('x', JSON.stringify('y'.repeat(4_000))))).to.equal(false);
    expect(isLight({ contextJson: '{}', templates: Array(4).fill(request('{{ x }}')) })).to.equal(true);
    expect(isLight({ contextJson: '{}', templates: Array(5).fill(request('{{ x }}')) })).to.equal(false);
    expect(isLight(task('{{ a }}{{ b }}{{ c }}{{ d }}{{ e }}'))).to.equal(false);
    expect(isLight({ contextJson: '{}', templates: [{ ...request('{{ x }}'), syntax: 'liquid' }] })).to.equal(
      false,
    );
    expect(isLight({ contextJson: undefined, templates: [request('x')] }), 'only compiled').to.equal(false);
  });

  it('takes no time to tell, whatever the text', () => {
    const begun = performance.now();
    for (const source of [
      '{{'.repeat(100),
      '{{ a'.repeat(50),
      '{{ a.b.c }'.repeat(20),
      `{{ ${'a.'.repeat(90)}`,
    ])
      for (let i = 0; i < 1_000; i++) isLight(task(source));
    expect(performance.now() - begun).to.be.lessThan(2_000);
  });

  it('takes a moment at most, whatever the values', async () => {
    const pool = createTemplatePool({ threads: 1 });
    try {
      const hostile = [
        JSON.stringify({ a: Array(600).fill(1e-99) }),
        JSON.stringify({ a: Array(3).fill('\ue000'.repeat(1_300)) }),
        `{"a":${'['.repeat(1_900)}${']'.repeat(1_900)}}`,
      ];
      for (const contextJson of hostile)
        for (const mode of ['text', 'filter', 'html', 'json', 'address'] as const) {
          const light = { contextJson, templates: [{ ...request('{{ a }}{{ a }}{{ a }}{{ a }}'), mode }] };
          expect(isLight(light)).to.equal(true);
          const begun = performance.now();
          await pool.render(light);
          expect(performance.now() - begun, `${mode} of ${contextJson.slice(0, 30)}`).to.be.lessThan(500);
        }
    } finally {
      await pool.close();
    }
  });

  it('comes out as in a thread, errors as well, and waits for nobody', async () => {
    const pool = createTemplatePool({ threads: 1, deadlineMs: 1_000 });
    try {
      const contextJson = '{"a":10.0,"b":"it\'s","n":null,"big":12345678901234567890}';
      const sources = [
        "x = {{ a }} and y = '{{ b }}'",
        '{{ big }}',
        '{{ n }}',
        '{{ missing }}',
        '{{ a.b.c }}',
      ];
      const light = await Promise.all(
        sources.map((source) => pool.render({ contextJson, templates: [request(source)] })),
      );
      // Beside one that is not light they all go to the thread.
      const beside = request('{{ a|string }}');
      const threaded = await Promise.all(
        sources.map((source) => pool.render({ contextJson, templates: [request(source), beside] })),
      );
      expect(light).to.deep.equal(threaded.map((outcomes) => outcomes.slice(0, 1)));
      expect(light.map(([outcome]) => outcome?.ok)).to.deep.equal([true, true, true, false, false]);

      const ended: string[] = [];
      const endless = '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}';
      const long = pool.render({ contextJson, templates: [request(endless)] }).then(() => ended.push('long'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await pool.render({ contextJson, templates: [request('{{ a }}')] });
      ended.push('light');
      await long;
      expect(ended).to.deep.equal(['light', 'long']);
    } finally {
      await pool.close();
    }
  });
});
