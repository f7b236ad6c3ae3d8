import { AppError } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Attachment } from '../email.js';
import type { EmailMessage, SendOutcome } from './sending.js';

/** An attachment as passed to the carrier. */
export interface LoadedAttachment extends Attachment {
  readonly base64: string;
}

/** Maximum attachment bytes in memory: a few emails of maximum size. Other emails wait. */
const MAX_BYTES = 64_000_000;
/** Up to this many characters, an email's texts don't count. */
const FREE_CHARACTERS = 250_000;
/** Memory that a character of longer ones takes until the carrier has responded: in the text, and in the message. */
const BYTES_PER_CHARACTER = 4;

/** Keeps attachments and long texts in memory while their email is being sent, within a process-wide limit that tenants share. */
export class AttachmentLoader {
  readonly #memory = new TenantLimiter({ max: MAX_BYTES });

  constructor(private readonly storage: FileStorage) {}

  /** @returns the result of `send`, or why the attachments can't be read, in which case nothing was sent */
  async with(
    { tenantid, html, text = '', attachments = [] }: EmailMessage,
    send: (loaded: readonly LoadedAttachment[]) => Promise<SendOutcome>,
  ): Promise<SendOutcome> {
    const characters = html.length + text.length;
    const isLong = characters > FREE_CHARACTERS;
    if (attachments.length === 0 && !isLong) return send([]);
    const bytes = attachments.reduce(
      (sum, { size }) => sum + size,
      isLong ? BYTES_PER_CHARACTER * characters : 0,
    );
    const work = async (): Promise<SendOutcome> => {
      const loaded = await this.#load(attachments);
      return 'kind' in loaded ? loaded : send(loaded.attachments);
    };
    return this.#memory.run(tenantid, work, bytes);
  }

  async #load(
    attachments: readonly Attachment[],
  ): Promise<SendOutcome | { readonly attachments: readonly LoadedAttachment[] }> {
    try {
      const loaded: LoadedAttachment[] = [];
      for (const attachment of attachments) {
        const chunks: Buffer[] = [];
        for await (const chunk of await this.storage.read(attachment.objectkey)) chunks.push(chunk as Buffer);
        loaded.push({ ...attachment, base64: Buffer.concat(chunks).toString('base64') });
      }
      return { attachments: loaded };
    } catch (error) {
      const isGone = error instanceof AppError && error.code === 'NOT_FOUND';
      return isGone
        ? {
            kind: 'rejected',
            httpStatus: null,
            code: 'ATTACHMENT_MISSING',
            message: 'an attached file is gone',
          }
        : {
            kind: 'retry',
            ambiguous: false,
            httpStatus: null,
            code: 'STORAGE_UNAVAILABLE',
            message: 'the storage of files is not available',
          };
    }
  }
}
