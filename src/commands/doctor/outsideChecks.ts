import { Readable } from 'node:stream';
import type { Config } from '../../config/config.js';
import { newObjectkey } from '../../files/storage/fileStorage.js';
import { openStorage } from '../../files/storage/openStorage.js';
import { ownValue } from '../../foundation/ownValue.js';
import { inspectRedis } from '../../queue/inspectRedis.js';
import { redisErrorCode } from '../../queue/redisClient.js';
import { bad, codeOf, good, type Checks, type Finding } from './check.js';

/** The oldest version with all commands that BullMQ needs. */
const OLDEST_REDIS = [6, 2] as const;

/**
 * Checks that need no database: Redis, the carrier, the file storage.
 * @param usesSendgrid whether a tenant sends with SendGrid, the default carrier
 */
export function outsideChecks(config: Config, usesSendgrid: boolean): Checks {
  const { redisUrl, queuePrefix, mailTransport } = config;
  return {
    ...(redisUrl !== undefined && { queue: () => checkRedis(redisUrl, queuePrefix) }),
    sendgrid: async () => {
      if (mailTransport === 'mailbox') return good('none: email is kept in the mailbox');
      if (usesSendgrid) return checkCarrier(config);
      return good('SendGrid is not checked: all tenants send with other carriers');
    },
    storage: () => checkStorage(config),
  };
}

/** By the first word of Redis's response to a write. */
const REFUSALS: Readonly<Record<string, string>> = {
  OOM: 'Its memory is full: raise maxmemory.',
  READONLY: 'It is a replica: REDIS_URL has to lead to the primary.',
  MISCONF: "It can't save its data, mostly because its disk is full: see its log.",
  NOPERM:
    'Its ACL has to let the user run all commands, scripts included, on keys with QUEUE_PREFIX in braces.',
  NOREPLICAS: 'It has fewer replicas than min-replicas-to-write.',
};

async function checkRedis(url: string, prefix: string): Promise<Finding> {
  const facts = await inspectRedis(url, prefix).catch(
    (error: unknown) => redisErrorCode(error) ?? 'no connection',
  );
  if (typeof facts === 'string') {
    return bad(
      `Redis can't be reached (${facts})`,
      'Start it, or correct REDIS_URL. Changes commit in the meantime, and their email waits.',
    );
  }
  const { version, primaries, maxmemoryPolicy, roundTripMs, modeProblem, refusal } = facts;
  if (modeProblem !== undefined) return bad(modeProblem);
  const cluster = primaries > 1 ? ` on ${primaries} primaries` : '';
  const says = `Redis ${version}${cluster}, responds in ${Math.ceil(roundTripMs)} ms`;
  if (isOlder(version)) return bad(says, `Use Redis ${OLDEST_REDIS.join('.')} or newer.`);
  if (maxmemoryPolicy !== undefined && maxmemoryPolicy !== 'noeviction') {
    return bad(
      `${says}; its maxmemory-policy is ${maxmemoryPolicy}`,
      'Set it to noeviction: any other policy discards jobs when memory is full.',
    );
  }
  if (refusal !== undefined) {
    const code = redisErrorCode(refusal) ?? codeOf(refusal);
    const waits = 'Changes commit in the meantime, and their email waits.';
    return bad(`${says}; it refuses to write (${code})`, `${ownValue(REFUSALS, code) ?? ''} ${waits}`.trim());
  }
  return good(`${says}, maxmemory-policy ${maxmemoryPolicy ?? 'unknown'}`);
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1]);
}

/** A request without key or email: any response means that the carrier is reachable. */
async function checkCarrier({ carrierUrls, sendDeadlineMs }: Config): Promise<Finding> {
  const startedAt = performance.now();
  const signal = AbortSignal.timeout(sendDeadlineMs);
  try {
    const response = await fetch(carrierUrls['SENDGRID_BASE_URL'] ?? '', { signal, redirect: 'manual' });
    await response.body?.cancel();
    return assessCarrierResponse(response.status, Math.ceil(performance.now() - startedAt));
  } catch (error) {
    const why = signal.aborted ? `no response within ${sendDeadlineMs} ms` : codeOf(error);
    return bad(
      `SendGrid can't be reached (${why})`,
      'Check SENDGRID_BASE_URL, DNS, and outbound network access.',
    );
  }
}

/** @param status of the response to a request without a key */
export function assessCarrierResponse(status: number, ms: number): Finding {
  if (status >= 500 || status === 407 || status === 429) {
    return bad(
      `SendGrid responds with ${status}`,
      'It, or a proxy in between, rejects requests; email waits in the meantime.',
    );
  }
  return good(
    `SendGrid can be reached in ${ms} ms${status === 401 || status === 403 ? ' and asks for a key, as expected' : ''}`,
  );
}

const PROBE = Buffer.from('rowpost doctor');

/** Writes a small object and removes it. Tenant 0 has no files. */
async function checkStorage(config: Config): Promise<Finding> {
  const storage = openStorage(config);
  const objectkey = newObjectkey(0);
  try {
    await storage.write(objectkey, Readable.from([PROBE]), PROBE.length, AbortSignal.timeout(10_000));
    await storage.remove(objectkey);
    return good('writable');
  } catch (error) {
    // The error itself is for clients.
    return bad(
      `it can't be written (${codeOf((error as Error).cause ?? error)})`,
      "Check STORAGE_URL: the folder, its owner and free space; or the bucket's address and credentials.",
    );
  } finally {
    await storage.close();
  }
}
