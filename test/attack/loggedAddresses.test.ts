import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { INVITATION_PATH, RESET_PATH } from '../../src/control/roles/acceptInvitation.js';
import { UNSUBSCRIBE_PATH } from '../../src/email/unsubscribeLink.js';
import { FILES_PATH } from '../../src/files/fileLinks.js';
import { WebFixture } from '../api/webFixture.js';

const deployed = (file: string): string =>
  readFileSync(new URL(`../../deploy/proxy/${file}`, import.meta.url), 'utf8');

describe('attack: whoever reads the logs of a proxy, where addresses are that open something', () => {
  const PAGES = [INVITATION_PATH, RESET_PATH, UNSUBSCRIBE_PATH];

  for (const start of [FILES_PATH, ...PAGES]) {
    it(`finds none that begin with ${start}`, () => {
      const silent = [...deployed('nginx.conf').matchAll(/location (~ )?(\S+) \{([^}]*)\}/g)].filter(
        ([, , , body = '']) => body.includes('access_log off;'),
      );
      const isSilent = silent.some(([, isPattern, path = '']) =>
        isPattern ? new RegExp(path).test(`${start}x`) : start.startsWith(path),
      );
      expect(isSilent, 'nginx').to.equal(true);
      for (const file of ['haproxy.cfg', 'cells.cfg']) {
        const [, paths = ''] = /set-log-level silent if \{ path_beg ([^}]*) \}/.exec(deployed(file)) ?? [];
        expect(paths.split(' '), file).to.include(start);
      }
    });
  }

  it('nor as the referrer of what a page loads', async () => {
    const fixture = await WebFixture.start();
    try {
      for (const start of PAGES) {
        const { headers } = await fixture.fetch(`${start}preview`, { headers: { accept: 'text/html' } });
        expect(headers.get('content-type'), start).to.include('text/html');
        expect(headers.get('referrer-policy'), start).to.equal('strict-origin');
      }
    } finally {
      await fixture.stop();
    }
  });
});
