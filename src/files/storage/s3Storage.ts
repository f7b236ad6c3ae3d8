import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { AppError } from '../../errors.js';
import { objectNotFound, storageUnavailable, type FileStorage } from './fileStorage.js';
import type { S3Address } from './storageUrl.js';

const MAX_SOCKETS = 256;
const CONNECT_TIMEOUT_MS = 5_000;
/** Longest silence of the storage. */
const SILENCE_TIMEOUT_MS = 30_000;

/**
 * Files in S3 or what speaks like it. An object is written by one request, so it is there whole or not at all: what was
 * interrupted leaves nothing.
 */
export function createS3Storage({ bucket, prefix, region, endpoint, credentials }: S3Address): FileStorage {
  const client = new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    // A stream can't be sent twice, and services other than Amazon's do not all know trailing checksums.
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
    },
  });
  const place = (objectkey: string) => ({ Bucket: bucket, Key: `${prefix}${objectkey}` });

  return {
    async write(objectkey, bytes, size, signal) {
      // The SDK would wait for the rest of a source that has failed.
      const source = new AbortController();
      bytes.once('error', (error) => source.abort(error));
      const ended = AbortSignal.any([signal, source.signal]);
      try {
        const command = new PutObjectCommand({ ...place(objectkey), Body: bytes, ContentLength: size });
        await client.send(command, { abortSignal: ended });
      } catch (error) {
        throw ended.aborted ? ended.reason : explain(error);
      }
    },
    async read(objectkey, range) {
      try {
        const { Body } = await client.send(
          new GetObjectCommand({
            ...place(objectkey),
            ...(range ? { Range: `bytes=${range.start}-${range.end}` } : {}),
          }),
        );
        return Body as Readable;
      } catch (error) {
        throw explain(error);
      }
    },
    async remove(objectkey) {
      try {
        await client.send(new DeleteObjectCommand(place(objectkey)));
      } catch (error) {
        throw explain(error);
      }
    },
    close() {
      client.destroy();
      return Promise.resolve();
    },
  };
}

function explain(error: unknown): AppError {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  if (name === 'NoSuchKey' || $metadata?.httpStatusCode === 404) return objectNotFound(error);
  return storageUnavailable(error);
}
