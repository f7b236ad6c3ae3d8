import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import type { AppError } from '../../foundation/errors.js';
import {
  MAX_TRANSFERS,
  objectNotFound,
  sourceError,
  storageUnavailable,
  type FileStorage,
} from './fileStorage.js';
import type { S3Address } from '../../config/storageUrl.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Socket inactivity timeout. */
const SILENCE_TIMEOUT_MS = 30_000;
const QUIET = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/**
 * Files in S3 or a compatible service. An object is written in one request, so it is stored whole or not at all.
 */
export function createS3Storage(address: S3Address): FileStorage {
  let opened: ReturnType<typeof openClient> | undefined;
  const open = (): ReturnType<typeof openClient> => (opened ??= openClient(address));
  const place = (objectkey: string) => ({ Bucket: address.bucket, Key: `${address.prefix}${objectkey}` });

  return {
    async write(objectkey, bytes, size, signal) {
      // Otherwise the SDK would keep waiting for a failed source.
      const source = new AbortController();
      bytes.once('error', (error) => source.abort(error));
      const ended = AbortSignal.any([signal, source.signal]);
      try {
        const { sdk, client } = await open();
        const command = new sdk.PutObjectCommand({ ...place(objectkey), Body: bytes, ContentLength: size });
        await client.send(command, { abortSignal: ended });
      } catch (error) {
        throw sourceError(ended.reason) ?? explain(error);
      }
    },
    async read(objectkey, range) {
      try {
        const { sdk, client } = await open();
        const part = range ? { Range: `bytes=${range.start}-${range.end}` } : {};
        const { Body } = await client.send(new sdk.GetObjectCommand({ ...place(objectkey), ...part }));
        return Body as Readable;
      } catch (error) {
        throw explain(error);
      }
    },
    async remove(objectkey) {
      try {
        const { sdk, client } = await open();
        await client.send(new sdk.DeleteObjectCommand(place(objectkey)));
      } catch (error) {
        throw explain(error);
      }
    },
    async close() {
      (await opened)?.client.destroy();
    },
  };
}

/** Loaded lazily: the SDK is slow to load and takes tens of megabytes. */
async function openClient({ region, endpoint, credentials }: S3Address) {
  const sdk = await import('@aws-sdk/client-s3');
  const client: S3Client = new sdk.S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    // Errors are thrown; the SDK would also print some of them to the console.
    logger: QUIET,
    // A stream can't be replayed, and not all compatible services support trailing checksums.
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: MAX_TRANSFERS }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: MAX_TRANSFERS }),
    },
  });
  return { sdk, client };
}

function ignore(): void {
  // Errors are thrown.
}

function explain(error: unknown): AppError {
  return (error as Error).name === 'NoSuchKey' ? objectNotFound(error) : storageUnavailable(error);
}
