import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
/** For the busiest machine, where Playwright's own is 30 s. */
const TIMEOUT_MS = 60_000;

/** A machine without it still runs the tests beside those that need it. */
export const HAS_CHROMIUM = existsSync(EXECUTABLE);

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'], timeout: TIMEOUT_MS });
}

/** A tab in a profile of its own. */
export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(TIMEOUT_MS);
  return context.newPage();
}

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
