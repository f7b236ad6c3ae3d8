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
