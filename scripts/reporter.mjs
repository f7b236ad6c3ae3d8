// A mocha reporter of few lines: one for each top-level suite, every failure in full, and the counts to a file.
import { writeFileSync } from 'node:fs';
import { reporters, Runner } from 'mocha';

const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_RUN_END } =
  Runner.constants;

export default class CompactReporter extends reporters.Base {
  #passed = 0;
  #failed = 0;
  #suite = { started: 0, passed: 0, failed: 0 };

  constructor(runner, options) {
    super(runner, options);
    runner.on(EVENT_SUITE_BEGIN, (suite) => {
      if (isTopLevel(suite))
        this.#suite = { started: Date.now(), passed: this.#passed, failed: this.#failed };
    });
    runner.on(EVENT_SUITE_END, (suite) => {
      if (isTopLevel(suite)) this.#printSuite(suite.title);
    });
    runner.on(EVENT_TEST_PASS, () => {
      this.#passed++;
      this.#saveCounts();
    });
    runner.on(EVENT_TEST_FAIL, () => {
      this.#failed++;
      this.#saveCounts();
    });
    runner.once(EVENT_RUN_END, () => {
      reporters.Base.list(this.failures);
    });
  }

  #printSuite(title) {
    const { started, passed, failed } = this.#suite;
    const newPassed = this.#passed - passed;
    const newFailed = this.#failed - failed;
    if (newPassed + newFailed === 0) return; // filtered out by --grep
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    const outcome = newFailed === 0 ? `${newPassed} passed` : `${newPassed} passed, ${newFailed} FAILED`;
    console.log(`${newFailed === 0 ? '✔' : '✖'} ${title}: ${outcome} (${seconds} s)`);
  }

  /** After every test, so that the counts are known even when the run breaks off. */
  #saveCounts() {
    const file = process.env.ROWPOST_TEST_COUNTS;
    if (file) writeFileSync(file, JSON.stringify({ passed: this.#passed, failed: this.#failed }));
  }
}

function isTopLevel(suite) {
  return !suite.root && suite.parent?.root === true;
}
