import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Liquid } from 'liquidjs';
import { renderInSteps } from '../../src/api/pages/renderInSteps.js';

const ROOTS = ['console', 'pages'].map((folder) =>
  fileURLToPath(new URL(`../../src/api/${folder}/views`, import.meta.url)),
);
const OPTIONS = { outputEscape: 'escape', strictFilters: true } as const;
const OWN: Readonly<Record<string, string>> = {
  items: '{% for item in items %}<{{ item }}{% if item == 3 %}{% break %}{% endif %}{% endfor %}',
  base: 'before {% block content %}none{% endblock %} after {{ name }}',
  child: '{% layout "base" %}{% block content %}{% render "items", items: items %}{% endblock %}',
  captured:
    '{% capture text %}{% for item in items %}{{ item }},{% endfor %}{% endcapture %}{{ text | upcase }}',
  unknown: '{% for item in items %}{{ item | nothing }}{% endfor %}',
  thrown: '{% for item in items %}{{ item | fail }}{% endfor %}',
  missing: '{% render "nowhere" %}',
  hash: '{{ iterator.next }} {{ iterator }}',
};
/** As long as these are not functions, they are values. */
const ITERATOR = { next: 'a', throw: 'b', return: 'c' };

describe('Rendering a page in steps', () => {
  const outcome = (render: () => string): string => {
    try {
      return render();
    } catch (error) {
      return `failed: ${String(error)}`;
    }
  };
  const complete = (liquid: Liquid, view: string, values: object): { html: string; steps: number } => {
    const rendering = renderInSteps(liquid, view, values);
    for (let steps = 0; ; steps += 1) {
      const step = rendering.next();
      if (step.done) return { html: step.value, steps };
    }
  };
  const expectSame = (liquid: Liquid, view: string, values: object): string => {
    const atOnce = outcome(() => liquid.renderFileSync(view, values) as string);
    expect(outcome(() => complete(liquid, view, values).html)).to.equal(atOnce);
    return atOnce;
  };

  it('has the result of rendering at once, for every view', () => {
    const views = ROOTS.flatMap((root) => readdirSync(root));
    expect(views.length).to.be.above(50);
    const liquid = new Liquid({ ...OPTIONS, root: ROOTS, extname: '.liquid' });
    const list = [
      { name: '<a>', rows: [1, 2], cells: [{ text: 'x' }] },
      { name: 'b', value: 2 },
    ];
    const values = {
      title: 'A & B',
      rows: list,
      tables: list,
      rules: list,
      fields: list,
      problem: { message: 'no' },
    };
    for (const view of views) {
      expectSame(liquid, view.replace('.liquid', ''), values);
      expectSame(liquid, view.replace('.liquid', ''), {});
    }
  });

  it('has the result of rendering at once, with layouts, loops, captured texts and errors', () => {
    const liquid = new Liquid({ ...OPTIONS, templates: OWN });
    liquid.registerFilter('fail', (item: number) => {
      if (item === 2) throw new Error('this filter fails');
      return item;
    });
    const found = Object.keys(OWN).map((view) =>
      expectSame(liquid, view, { items: [1, 2, 3, 4], name: 'Ada', iterator: ITERATOR }),
    );
    expect(found.filter((html) => html.startsWith('failed'))).to.have.length(3);
    expect(found).to.include('before <1<2<3 after Ada').and.include('1,2,3,4,');
  });

  it('takes more steps for longer pages, and a few for a short one', () => {
    const liquid = new Liquid({
      ...OPTIONS,
      templates: { list: '{% for item in items %}{{ item }}{% endfor %}' },
    });
    const stepsOf = (length: number): number =>
      complete(liquid, 'list', { items: Array.from({ length }, (_, index) => index) }).steps;
    expect(stepsOf(10)).to.equal(1);
    expect(stepsOf(10_000)).to.be.within(20, 200);
    expect(stepsOf(20_000)).to.be.within(1.8 * stepsOf(10_000), 2.2 * stepsOf(10_000));
  });
});
