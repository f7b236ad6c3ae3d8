import { paused, rejected, type Fields, type ResponseReader } from '../exchangeOutcome.js';

export const sendgridResponses: ResponseReader = {
  // HTML pages and the like are useless to the tenant.
  wordsIn: (body) =>
    errorsIn(body)
      .map(({ message }) => (typeof message === 'string' ? message : ''))
      .filter((text) => text !== '')
      .join('; '),
  idIn: ({ headers }) => headers['x-message-id'],
  readFailure(response) {
    const { status, body, message } = response;
    if (status === 401)
      return paused(response, /credit/i.test(message) ? 'CREDITS_EXCEEDED' : 'APIKEY_REFUSED');
    if (status !== 403) return undefined;
    // This status means either a blocked account or an unverified sender address.
    return concernsSender(body)
      ? rejected(response, 'SENDER_NOT_VERIFIED')
      : paused(response, 'ACCOUNT_BLOCKED');
  },
};

interface SendgridError {
  readonly message?: unknown;
  readonly field?: unknown;
}

function errorsIn({ errors }: Fields): readonly SendgridError[] {
  if (!Array.isArray(errors)) return [];
  return (errors as (SendgridError | null)[]).filter((item) => item !== null && typeof item === 'object');
}

function concernsSender(body: Fields): boolean {
  return errorsIn(body).some(
    (item) =>
      item.field === 'from' || (typeof item.message === 'string' && /sender identity/i.test(item.message)),
  );
}
