import { expect } from 'chai';
import { createTemplatePool, type TemplateRequest } from 'rowpost-jinja2';

/** Fifty texts of one email, each as long as one may be, took 400 MB of the service, which stood still while it read them. */
describe('attack: an email of many long texts', function () {
  it('prints no more than its longest parts together', async () => {
    const pool = createTemplatePool();
    const request: TemplateRequest = {
      name: 'recipients',
      source: "{{ '€' * 1900000 }}",
      syntax: 'jinja2',
      mode: 'text',
    };
    const templates = Array.from({ length: 6 }, () => request);
    const outcomes = await pool.render({ contextJson: '{}', templates });
    const message = 'the templates print more than 6000000 characters together';
    expect(
      outcomes.map((outcome) => (outcome.ok ? outcome.output.length : outcome.error.message)),
    ).to.deep.equal([1_900_000, 1_900_000, 1_900_000, message, message, message]);
    // The next one begins anew.
    const [next] = await pool.render({ contextJson: '{}', templates: [request] });
    expect(next?.ok).to.equal(true);
    await pool.close();
  });
});
