import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Account } from './account.js';
import { AttachmentLoader } from './attachmentLoader.js';
import type { CarrierOptions } from './carrier.js';
import { exceedsLimits } from './limits.js';
import type { EmailMessage, Carriers, SendContext } from './sending.js';
import { CARRIERS } from './allCarriers.js';

interface Options extends CarrierOptions {
  /** Source of attachments; closed with the carriers. Without it, emails have none. */
  readonly storage?: FileStorage;
}

/** Sends each email with the carrier of its account. */
export function createCarriers(options: Options): Carriers {
  const loader = options.storage && new AttachmentLoader(options.storage);
  const opened = new Map(
    CARRIERS.map((definition) => {
      const { kind, limits } = definition;
      return [kind, { limits, carrier: definition.open(options) }] as const;
    }),
  );
  const carrierOf = ({ kind }: Account) => {
    const found = opened.get(kind);
    if (!found) throw new Error(`there is no carrier ${kind}`);
    return found;
  };

  const send = async (message: EmailMessage, context: SendContext) => {
    const { carrier, limits } = carrierOf(context.account);
    const tooLarge = exceedsLimits(message, limits);
    if (tooLarge) return tooLarge;
    if (!loader) return carrier.send({ loaded: [], ...message }, context);
    return loader.with(message, (loaded) => carrier.send({ loaded, ...message }, context));
  };
  return {
    needsAccount: true,
    send(message, { account, ...context }) {
      if (!account) throw new Error('a carrier needs an account');
      return send(message, { account, ...context });
    },
    verify: (account, deadlineMs) => carrierOf(account).carrier.verify(account, deadlineMs),
    async close() {
      for (const { carrier } of opened.values()) carrier.close();
      await options.storage?.close();
    },
  };
}
