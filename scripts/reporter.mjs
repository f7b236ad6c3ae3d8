// A mocha reporter of few lines: one for each top-level suite, every failure by name at once and in full at the end.
// The counts and the time of each file go to the file that ROWPOST_TEST_REPORT names.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { reporters, Runner } from 'mocha';

const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_RUN_END } =
  Runner.constants;

export default class CompactReporter extends reporters.Base {
  #passed = 0;
  #failed = 0;
  /** Full titles, each with the first line of its error. */
  #failures = [];
  #suite = { startedMs: 0, passed: 0, failed: 0 };
  /** Milliseconds by file. */
  #files = {};

  constructor(runner, options) {
    super(runner, options);
    runner.on(EVENT_SUITE_BEGIN, (suite) => {
      if (isTopLevel(suite))
        this.#suite = { startedMs: Date.now(), passed: this.#passed, failed: this.#failed };
    });
    runner.on(EVENT_SUITE_END, (suite) => {
      if (isTopLevel(suite)) this.#endSuite(suite);
    });
    runner.on(EVENT_TEST_PASS, () => {
      this.#passed++;
      this.#save();
    });
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      this.#failed++;
      const failure = `${test.fullTitle()}\n    ${String(error.message ?? error).split('\n')[0]}`;
      this.#failures.push(failure);
      console.log(`✖ FAILED: ${failure}`);
      this.#save();
    });
    runner.once(EVENT_RUN_END, () => {
      if (this.failures.length > 0) reporters.Base.list(this.failures);
    });
  }

  #endSuite({ title, file }) {
    const { startedMs, passed, failed } = this.#suite;
    const newPassed = this.#passed - passed;
    const newFailed = this.#failed - failed;
    if (newPassed + newFailed === 0) return; // filtered out by --grep
    const tookMs = Date.now() - startedMs;
    const name = path.relative(process.cwd(), file ?? '');
    this.#files[name] = (this.#files[name] ?? 0) + tookMs;
    this.#save();
    const outcome = newFailed === 0 ? `${newPassed} passed` : `${newPassed} passed, ${newFailed} FAILED`;
    console.log(`${newFailed === 0 ? '✔' : '✖'} ${title}: ${outcome} (${(tookMs / 1000).toFixed(1)} s)`);
  }

  /** After every test, so that the counts are known even when the run aborts. */
  #save() {
    const file = process.env.ROWPOST_TEST_REPORT;
    if (file) {
      const counts = { passed: this.#passed, failed: this.#failed };
      writeFileSync(file, JSON.stringify({ ...counts, failures: this.#failures, files: this.#files }));
    }
  }
}

function isTopLevel(suite) {
  return !suite.root && suite.parent?.root === true;
}
