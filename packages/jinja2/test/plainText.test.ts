import { expect } from 'chai';
import { createTemplatePool, type RenderOutcome } from '../src/index.js';
import { plainText } from '../src/plainText.js';
import { cpuTimer } from '../../../test/support/cpuTime.js';

const LETTER = `<!doctype html><html><head><title>Order</title><style>p { color: red }</style></head><body>
<div style="display:none">hidden</div><h1>Order 7</h1>
<p>Dear  Ada,<br>thank you for <a href="https://shop.example.com/7?a=1&amp;b=2">your order</a>
or <a href="https://x.example">https://x.example</a>.</p>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea &amp; milk</td><td>2.75</td></tr></table>
<ul><li>one</li><li>two</li></ul><img src="https://x.example/l.png" alt="Logo"><script>alert(1)</script>
<p>Grüße 🎉</p></body></html>`;

describe('templates: the plain text of an email', () => {
  it("contains the email's text and links", () => {
    const lines = plainText(LETTER).split(/\n+/);
    expect(lines).to.deep.equal([
      'Order 7',
      'Dear Ada,',
      'thank you for your order <https://shop.example.com/7?a=1&b=2> or https://x.example.',
      'Item Price',
      'Tea & milk 2.75',
      ' * one',
      ' * two',
      'Logo',
      'Grüße 🎉',
    ]);
    expect(
      plainText('<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol><blockquote>d<br>e</blockquote>'),
    ).to.equal(' 1. a\n   * b\n 2. c\n\n> d\n> e');
    expect(plainText('<pre>x\n  y</pre><hr>z <a href="mailto:a@b.c">a@b.c</a>')).to.equal(
      `x\n  y\n\n${'-'.repeat(40)}\n\nz a@b.c`,
    );
    expect(plainText('<ol start="3"><li>a<li>b<li value="9">c</ol>')).to.equal(' 3. a\n 4. b\n 9. c');
    expect(
      plainText(
        '<a href="https://x.example/">https://x.example</a> <a href="tel:+43">+43</a> <a href=" y ">z</a>',
      ),
    ).to.equal('https://x.example +43 z <y>');
    expect(plainText('hello')).to.equal('hello');
    expect(plainText('<img src="x">')).to.equal('');
  });

  it('has the text of a list item next to its bullet, whatever elements it is in', () => {
    expect(plainText('<ul><li><p>one</p></li></ul>')).to.equal(' * one');
    const blocks = 'p div h1 h6 section article address center figure blockquote pre table'.split(' ');
    const wrap = (name: string, text: string): string =>
      name === 'table' ? `<table><tr><td>${text}</td></tr></table>` : `<${name}>${text}</${name}>`;
    const before = ['', ' ', '\n  ', '<p></p>', '<img src="x">', '<span style="display:none">x</span>'];
    for (const list of ['ul', 'ol'])
      for (const outer of blocks)
        for (const inner of ['b', ...blocks])
          for (const start of before) {
            const item = start + wrap(outer, wrap(inner, 'one'));
            const html = `x<${list}><li>${item}</li><li>two</li></${list}><p>y</p>`;
            const lines = plainText(html).split(/\n+/);
            const bullets = list === 'ul' ? ['*', '*'] : ['1.', '2.'];
            expect(lines, html).to.deep.equal(['x', ` ${bullets[0]} one`, ` ${bullets[1]} two`, 'y']);
          }
    expect(plainText('<ul><li></li><li><ul><li><p>a</p></li></ul></li></ul><p>z</p>')).to.equal(
      ' *\n *\n   * a\n\nz',
    );
  });

  // Of each, more took between 5 and 18 seconds.
  const hostile: Readonly<Record<string, string>> = {
    'elements that are never closed': '<b>'.repeat(60_000),
    'as many as are read': '<b>'.repeat(19_999),
    'tags that close nothing': '<b>'.repeat(10_000) + '</i>'.repeat(30_000),
    'half of each': '<b>'.repeat(10_000) + '</i>'.repeat(9_999),
    tables: '<table><tr><td>'.repeat(6_600),
    lists: '<ul><li>'.repeat(9_999),
    'lines in lists': `${'<ul><li>'.repeat(45)}<pre>${'\n'.repeat(190_000)}`,
    'lines in quotations': '<blockquote>'.repeat(55) + 'aaaaa<p>'.repeat(18_000),
    'no tags': '<'.repeat(200_000),
    attributes: `<a ${'b=c '.repeat(49_000)}>`,
    comments: '<!--'.repeat(50_000),
  };
  for (const [name, html] of Object.entries(hostile)) {
    it(`is limited: ${name}`, () => {
      const cpuMs = cpuTimer();
      expect(plainText(html).length).to.be.at.most(400_000);
      expect(cpuMs()).to.be.below(4_000);
    });
  }

  it('is produced both in place and in a render process', async () => {
    const pool = createTemplatePool();
    try {
      const render = async (source: string): Promise<RenderOutcome | undefined> => {
        const template = { name: 'template', source, syntax: 'jinja2', mode: 'html' } as const;
        const templates = [
          { ...template, withPlainText: true },
          { ...template, name: 'other' },
        ];
        const [made, other] = await pool.render({ contextJson: '{"a": "<b>"}', templates });
        expect(other).not.to.have.property('plainText');
        return made;
      };
      expect(await render('<p>{{ a }}</p>')).to.deep.include({
        output: '<p>&lt;b&gt;</p>',
        plainText: '<b>',
      });
      const long = 'word '.repeat(2_000);
      expect(await render(`<p>{{ a }} ${long}</p>`)).to.deep.include({ plainText: `<b> ${long.trim()}` });
      const huge = await render(`<p>{% for i in range(90000) %}a{{ i }}{% endfor %}</p>`);
      expect(huge).to.include({ ok: true, plainText: '' });
    } finally {
      await pool.close();
    }
  });
});
