import { isOnlyValues, unmarkValues } from 'rowpost-jinja2';
import {
  formatAddress,
  MAX_LIST_CHARACTERS,
  MAX_PIECES,
  parseAddresses,
  parseListItem,
  parseOneValue,
  parseOneAddress,
  uniqueAcrossLists,
  type Address,
  type ParsedAddresses,
} from './addresses.js';
import { EmailProblem, fieldProblem, type Email, type Intended, type InvalidAddress } from './email.js';
import type { EmailField, EmailFields } from './emailFields.js';
import type { TextOf } from './renderFields.js';
import { toPostgresText } from '../foundation/postgresText.js';

/** Inboxes show a hundred. Folding two million into lines takes a second, and the ledger keeps them. */
const MAX_SUBJECT_CHARACTERS = 10_000;

interface AddressedEmail {
  readonly addressed: Pick<Email, 'sender' | 'recipients' | 'cc' | 'bcc' | 'invalid' | 'subject'>;
  /** Set if there is no valid recipient. */
  readonly recipientProblem?: EmailProblem;
}

/** Reads sender, recipients and subject of an email. Throws EmailProblem if sender or subject is missing. */
export function addressEmail(fields: EmailFields, textOf: TextOf): AddressedEmail {
  const sender = readSender(textOf(fields.sender));
  const subject = readSubject(textOf(fields.subject));
  const invalid: InvalidAddress[] = [];
  let characters = 0;
  let pieces = 0;
  const count = (field: EmailField, more: number): void => {
    pieces += more;
    if (pieces > MAX_PIECES) throw tooMany(field, `there are more than ${MAX_PIECES} of them`);
  };
  const rendered = (field: EmailField): string => {
    const text = textOf(field);
    characters += text.length;
    if (characters > MAX_LIST_CHARACTERS)
      throw tooMany(field, `the addresses have more than ${MAX_LIST_CHARACTERS} characters`);
    return text;
  };
  const addresses = (list: readonly EmailField[]): Address[] =>
    list.flatMap((field) =>
      readTexts(field, rendered(field), (texts) => count(field, texts)).flatMap((parsed) => {
        count(field, Math.max(0, parsed.valid.length + parsed.invalid.length - 1));
        for (const text of parsed.invalid) invalid.push({ field: field.name, text });
        return parsed.valid;
      }),
    );
  const [recipients = [], cc = [], bcc = []] = uniqueAcrossLists([
    addresses(fields.recipients),
    addresses(fields.cc),
    addresses(fields.bcc),
  ]);
  const addressed = {
    sender,
    recipients,
    cc,
    bcc,
    subject,
    ...(invalid.length === 0 ? {} : { invalid }),
  };
  return recipients.length === 0
    ? { addressed, recipientProblem: noRecipient(invalid[0]?.text) }
    : { addressed };
}

/** As many as carriers take. */
const MAX_INTENDED = 1_000;
const MAX_INTENDED_CHARACTERS = 320;

/** Whom an email is for, whoever of them gets it. */
export function intendedOf({
  recipients,
  cc,
  bcc,
  invalid = [],
  subject,
}: Pick<Email, 'recipients' | 'cc' | 'bcc' | 'invalid' | 'subject'>): Intended {
  const addresses = [...recipients, ...cc, ...bcc].map(formatAddress);
  return { recipients: asIntended([...addresses, ...invalid.map(({ text }) => text)]), subject };
}

/** The subject, and the fields that say whom an email is for: no more of them than recipients are shown, where a type has very many. */
export function intendedFields({
  subject,
  recipients,
  cc,
  bcc,
}: EmailFields): readonly [EmailField, ...EmailField[]] {
  return [subject, ...[recipients, cc, bcc].flat().slice(0, MAX_INTENDED)];
}

/** Likewise, of an email that can't be composed. @param textOf undefined for what can't be rendered */
export function readIntended(
  fields: EmailFields,
  textOf: (field: EmailField) => string | undefined,
): Intended {
  const [subject, ...lists] = intendedFields(fields);
  const written = lists.flatMap((field) => {
    const text = textOf(field);
    return text === undefined ? [] : readWritten(field, text);
  });
  const rendered = oneLine(textOf(subject) ?? '', MAX_SUBJECT_CHARACTERS);
  return { recipients: asIntended(written), subject: rendered === '' ? null : rendered };
}

function readWritten(field: EmailField, text: string): readonly string[] {
  if (text.length > MAX_LIST_CHARACTERS) return [];
  try {
    const read = readTexts(field, text, () => undefined);
    return read.flatMap(({ valid, invalid }) => [...valid.map(formatAddress), ...invalid]);
  } catch (error) {
    if (!(error instanceof EmailProblem)) throw error;
    return [unmarkValues(text)];
  }
}

function asIntended(texts: readonly string[]): readonly string[] {
  const shown = texts.map((text) => oneLine(text, MAX_INTENDED_CHARACTERS));
  return [...new Set(shown)].filter((text) => text !== '').slice(0, MAX_INTENDED);
}

/** So many times as many characters are read as may be shown, since runs of spaces become one. Joining those of a long text takes a while. */
const READ_FOR_EACH = 10;

const oneLine = (text: string, maxCharacters: number): string =>
  toPostgresText(
    text
      .slice(0, READ_FOR_EACH * maxCharacters)
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, maxCharacters),
  );

function readSubject(text: string): string {
  const isRead = text.length <= READ_FOR_EACH * MAX_SUBJECT_CHARACTERS;
  const subject = oneLine(text, MAX_SUBJECT_CHARACTERS + 1);
  if (isRead && subject !== '' && subject.length <= MAX_SUBJECT_CHARACTERS) return subject;
  throw new EmailProblem('failed', {
    field: 'subject',
    ...(isRead && subject === ''
      ? { code: 'SUBJECT_EMPTY', message: 'the subject is empty' }
      : {
          code: 'SUBJECT_TOO_LONG',
          message: `the subject has more than ${MAX_SUBJECT_CHARACTERS} characters`,
        }),
  });
}

function readSender(text: string): Address {
  const sender = parseOneAddress(text);
  if (sender) return sender;
  throw new EmailProblem('failed', {
    code: 'SENDER_INVALID',
    field: 'sender',
    message: `the sender is not one address: "${excerpt(unmarkValues(text))}"`,
    hint: 'Write a@b.org or Name <a@b.org>.',
  });
}

/**
 * Reads the items of a JSON list and of lists printed into it, a list that a value is, such as `{{ list | tojson }}`, or the text itself.
 * @param count called with the number of texts before any is read
 */
function readTexts(
  { name, mode }: EmailField,
  text: string,
  count: (texts: number) => void,
): readonly ParsedAddresses[] {
  const isTemplate = mode !== 'addressList';
  const list = isTemplate ? listInValue(text) : listOf(text);
  if (list) {
    const items = list.flat().filter((item) => item !== null);
    count(items.length);
    const read = isTemplate ? parseOneValue : parseListItem;
    return items.map((item) =>
      typeof item === 'string' ? read(item) : { valid: [], invalid: [unmarkValues(JSON.stringify(item))] },
    );
  }
  if (isTemplate) {
    count(1);
    return [parseAddresses(text)];
  }
  throw new EmailProblem('failed', {
    code: 'RECIPIENTS_INVALID',
    field: name,
    message: `${name} is not a JSON list of addresses: "${excerpt(unmarkValues(text))}"`,
    hint: 'Put each value into quotes: ["{{ email }}"].',
  });
}

function listInValue(text: string): readonly unknown[] | undefined {
  const value = isOnlyValues(text) ? unmarkValues(text).trim() : '';
  return value.startsWith('[') ? listOf(value) : undefined;
}

/** Undefined if the text is no JSON list. */
function listOf(text: string): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

function tooMany({ name }: EmailField, why: string): EmailProblem {
  return fieldProblem(name, 'TOO_MANY_RECIPIENTS', why);
}

function noRecipient(invalid: string | undefined): EmailProblem {
  const found =
    invalid === undefined ? ': recipients renders to nothing' : `; not an address: "${excerpt(invalid)}"`;
  return new EmailProblem('skipped', {
    code: 'NO_VALID_RECIPIENT',
    field: 'recipients',
    message: `no valid recipient${found}`,
    ...(invalid?.startsWith('[') ? { hint: 'Write [{{ list }}] for a list of addresses.' } : {}),
  });
}

const MAX_EXCERPT_CHARACTERS = 80;
const excerpt = (text: string): string => text.trim().slice(0, MAX_EXCERPT_CHARACTERS);
