// Loaded into the peer's web process: its statements leave without the call that records the event.
// Everything else is the shipped program.
import { Transactions } from '../../dist/db/tenantTransaction.js';

const CAPTURE = /rowpost_tenant\.capture_change\((\$\d+::int4),.*?\) > 0/gs;
const { run } = Transactions.prototype;
const changed = new WeakMap();

function withoutCapture(statement) {
  let other = changed.get(statement);
  if (!other)
    changed.set(statement, (other = { ...statement, text: statement.text.replace(CAPTURE, '$1 > 0') }));
  return other;
}

Transactions.prototype.run = function runWithoutCapture(request) {
  const statements = request.statements.map((item) => ({
    ...item,
    statement: withoutCapture(item.statement),
  }));
  return run.call(this, { ...request, statements });
};
