import type { Email, EmailFailure, InvalidAddress } from './email.js';

/** Gmail clips an email's HTML beyond this. */
const CLIPPED_FROM_BYTES = 102_000;

/** Issues that don't prevent sending but are good to know beforehand. */
export function warningsOf({ html, invalid = [] }: Email): readonly EmailFailure[] {
  return [clipped(html), foreign(html), ...notSentTo(invalid)].filter((warning) => warning !== undefined);
}

const MAX_LISTED = 20;
const MAX_EXCERPT_CHARACTERS = 80;

function notSentTo(invalid: readonly InvalidAddress[]): readonly EmailFailure[] {
  return invalid.slice(0, MAX_LISTED).map(({ field, text }, index) => {
    const others = index === MAX_LISTED - 1 ? invalid.length - MAX_LISTED : 0;
    const more = others > 0 ? `, as are ${others} more` : '';
    return {
      code: 'ADDRESS_INVALID',
      field,
      message: `not an address: "${text.slice(0, MAX_EXCERPT_CHARACTERS)}"${more}`,
      hint: 'The email is sent to the others, and the delivery has an event that says so. Correct the data, or leave the text out.',
    };
  });
}

function clipped(html: string): EmailFailure | undefined {
  const bytes = Buffer.byteLength(html);
  if (bytes <= CLIPPED_FROM_BYTES) return undefined;
  return {
    code: 'HTML_CLIPPED',
    field: 'template',
    message: `the HTML has ${bytes} bytes; Gmail shows the first ${CLIPPED_FROM_BYTES}`,
    hint: 'Show fewer rows and link to the rest; a clipped email hides its end.',
  };
}

/** What other email tools would have replaced. */
function foreign(html: string): EmailFailure | undefined {
  const [tag] = /<mjml(?=[\s>])|\*\|[A-Z][\w:]{0,60}\|\*/.exec(html) ?? [];
  if (tag === undefined) return undefined;
  return {
    code: 'FOREIGN_TAG',
    field: 'template',
    message: `${tag}${tag.startsWith('<') ? '>' : ''} is sent as it is`,
    hint: tag.startsWith('<')
      ? 'No mailbox shows MJML: compile it, and use the HTML as the template. Its {{ … }} stay as they are.'
      : 'Write {{ records.new.name }} for data, and {{ unsubscribe_url }} for the link to unsubscribe.',
  };
}
