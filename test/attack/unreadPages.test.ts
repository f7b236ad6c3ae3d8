import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { ConsoleShop } from '../api/consoleShop.js';
import type { ConsoleBrowser } from '../api/consoleBrowser.js';
import { waitFor } from '../support/waitFor.js';

const MIB = 1024 * 1024;

describe('attack: large pages of the console that nobody reads', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  const sockets: Socket[] = [];
  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await shop.close();
  });

  const heldBytes = (): number => shop.fixture.engine.responses.heldBytes;
  /** Sends a form whose template is quotes, each of which is five characters in a page. The response is not read. */
  const send = (path: string, cookie: string, csrf: string, quotes: number): Socket => {
    const body = `csrf=${csrf}&email_type=x/y&action=save&template=${'"'.repeat(quotes)}`;
    const { port } = shop.fixture.web;
    const socket = connect(port, '127.0.0.1').pause();
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncookie: ${cookie}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    return socket;
  };
  const cookies = (): string => [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');

  it('the preview of an email of two million characters does not contain it three times', async () => {
    const values = {
      csrf: await browser.csrf('/console/emails/edit'),
      email_type: 'long',
      subject: 'S',
      sender: 'a@example.com',
      recipients: 'b@example.com',
      template: `{% autoescape false %}{{ '"' * 1900000 }}{% endautoescape %}`,
      table: 'orders',
      key: '7',
      operation: 'update',
    };
    const response = await browser.post('/console/emails/preview', values);
    const page = await response.text();
    expect(response.status).to.equal(200);
    expect(page).to.include('too long to be shown');
    expect(page).to.include('1900000 bytes');
    expect(page.length).to.be.below(MIB);
  });

  it("count as the tenant's responses until they are given up", async () => {
    const before = heldBytes();
    // Shown again, as no email may have this name.
    const csrf = await browser.csrf('/console/emails/edit');
    const socket = send('/console/emails/edit', cookies(), csrf, 2_000_000);
    await waitFor('the page to be held', () => heldBytes() - before > 8 * MIB);
    socket.destroy();
    await waitFor('its room to be free', () => heldBytes() === before);
  });

  it('are not made for anonymous clients, whose forms are not sent back', async () => {
    const { status, text } = await new Promise<{ status: string; text: string }>((resolve) => {
      const socket = send('/console/emails/edit', '', 'x', 60_000);
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('</html>')) resolve({ status: text.slice(9, 12), text });
      });
      socket.resume();
    });
    expect(status).to.equal('401');
    expect(text.length).to.be.below(10_000);
  });
});
