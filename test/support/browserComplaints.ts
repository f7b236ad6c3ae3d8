import type { Page } from 'playwright-core';

/**
 * Adds what the browser complains about on a page, in its console and as uncaught errors, to `complaints`.
 *
 * Chromium focuses an `autofocus` field with the page's first frame. A test that fills a field before that
 * frame keeps its focus, and Chromium notes so: this says that the test was faster, nothing about the page.
 */
export function collectComplaints(page: Page, complaints: string[]): void {
  page.on('console', (message) => {
    if (!message.text().startsWith('Autofocus processing was blocked')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
}
