import { expect } from 'chai';
import type { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ConsoleShop } from '../api/consoleShop.js';
import { itWithPython, runPython } from '../support/python.js';

/** What is run where it begins a cell. */
const FORMULA = "=cmd|'/c calc'!A1";

// As a spreadsheet reads a file in a country whose cells are separated by semicolons, and in others.
const RUN = `
import csv, io, json, sys
text = json.load(sys.stdin).lstrip('\\ufeff')
cells = [cell for d in (',', ';', '\\t') for row in csv.reader(io.StringIO(text, newline=''), delimiter=d) for cell in row]
json.dump([cell for cell in cells if cell.lstrip()[:1] in ('=', '+', '-', '@') and cell.lstrip() != ''], sys.stdout)`;

describe('attack: values of clients that run as formulas in the spreadsheet of an administrator', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
  });
  after(() => shop.close());

  itWithPython('are texts, whatever separates cells there', async () => {
    const order = await shop.changeOrder(7, 'new', 'paid');
    await shop.deliver(order, {
      state: 'failed',
      error_code: 'TEMPLATE_FAILED',
      error: `the value is\n${FORMULA}\nwhich is wrong`,
      subject: `Order;${FORMULA};paid`,
      recipients: ['ada@example.com', FORMULA, `b@example.com;"${FORMULA}"`],
    });
    const csrf = await browser.csrf('/console/deliveries');
    const response = await browser.post('/console/deliveries/export', { csrf });
    const csv = await response.text();
    expect(csv).to.include('calc');
    expect(runPython(RUN, csv)).to.deep.equal([]);
  });
});
