import type { Email, EmailFailure } from './email.js';

/** Gmail clips an email's HTML beyond this. */
const CLIPPED_FROM_BYTES = 102_000;

/** Issues that don't prevent sending but are good to know beforehand. */
export function warningsOf({ html }: Email): readonly EmailFailure[] {
  const bytes = Buffer.byteLength(html);
  if (bytes <= CLIPPED_FROM_BYTES) return [];
  return [
    {
      code: 'HTML_CLIPPED',
      field: 'template',
      message: `the HTML has ${bytes} bytes; Gmail shows the first ${CLIPPED_FROM_BYTES}`,
      hint: 'Show fewer rows and link to the rest; a clipped email hides its end.',
    },
  ];
}
