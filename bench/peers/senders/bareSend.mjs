// What every bare sender does with a job: nothing but @sendgrid/mail. A sender is run as
//   node <sender>.mjs fill|work '{"store":"redis://… or postgres://…","carrier":"http://…","events":…,"concurrency":…}'
// `fill` adds the jobs and ends; `work` does them until it is ended.
import sendgrid from '@sendgrid/mail';

export const BULK = 1_000;

/** As long as the email that Rowpost renders. */
const HTML = `<!doctype html>\n<html>\n<body>\n${'<p>Your order is on its way to Lund.</p>\n'.repeat(17)}</body>\n</html>`;

export async function runSender(actions) {
  const [action, options] = process.argv.slice(2);
  await actions[action](JSON.parse(options));
}

/** @returns a function that sends one email */
export function createSend(carrierUrl) {
  sendgrid.setApiKey('SG.bench');
  sendgrid.client.setDefaultRequest('baseUrl', carrierUrl);
  return (id, subject = `backlog ${id} 0`) =>
    sendgrid.send({
      from: 'Shop <shop@example.com>',
      to: `customer${id % 500}@example.com`,
      subject,
      html: HTML,
    });
}

/** Ids of the jobs, in bulks. */
export function* bulks(events) {
  for (let from = 0; from < events; from += BULK) {
    yield Array.from({ length: Math.min(BULK, events - from) }, (_, i) => from + i);
  }
}
