import type { EmailFailure } from '../../email/email.js';

/** Finds `file` among the attachments of emails that no upload causes: only an upload has one. */
export function absentFiles(
  attachments: readonly string[],
  operations: readonly string[],
): readonly EmailFailure[] {
  const index = attachments.indexOf('file');
  if (index < 0 || operations.length === 0 || operations.includes('upload')) return [];
  return [
    {
      code: 'ATTACHMENT_NONE',
      field: `attachments[${index}]`,
      message: `"file" attaches nothing to emails about ${[...new Set(operations)].join(' or ')}`,
      hint: 'Let a rule for upload send it, or query files (thefiles { storagekey }) and attach the outvar.',
    },
  ];
}
