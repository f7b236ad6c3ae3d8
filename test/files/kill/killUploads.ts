import { fork, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compiledProgram } from '../../support/compiledProgram.js';
import { testEnv } from '../../support/testConfig.js';
import { sweepNow, type FileShop } from '../fileShop.js';
import { STEPS, type Step } from './steps.js';

/** What the kills of a run have left, when all is swept. */
export interface KillReport {
  readonly kills: number;
  readonly uploads: number;
  /** Uploads that were answered 201 before their process was killed. */
  readonly answered: number;
  readonly files: number;
  /** Violations of what must hold, in words. */
  readonly problems: readonly string[];
}

const FILE_BYTES = 300_000;
/** Longest time from an upload's last reported step to the kill. */
const MAX_DELAY_MS = 8;

/** Kills a process with an upload at every step of its way, again and again. */
export async function killUploads(shop: FileShop, kills: number): Promise<KillReport> {
  const problems: string[] = [];
  const answered: string[] = [];
  let next = startProcess(shop);
  for (let round = 0; round < kills; round++) {
    const { child, port } = await next;
    // The next process starts while this one is at work.
    if (round + 1 < kills) next = startProcess(shop);
    answered.push(...(await killOnce(shop, child, port)));
    // As if the leases of what was killed had run out.
    await shop.rows('update rowpost.file_object set due = now()');
    await sweepNow(shop);
    problems.push(...(await contradictions(shop)));
  }
  const files = await shop.rows<{ storagekey: string }>('select storagekey from rowpost.file');
  const stored = new Set(files.map((file) => file.storagekey));
  for (const key of answered) if (!stored.has(key)) problems.push(`${key} was answered 201 and is gone`);
  return { kills, uploads: kills * STEPS.length, answered: answered.length, files: files.length, problems };
}

async function startProcess(shop: FileShop): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(await compiledProgram(new URL('./uploadProcess.ts', import.meta.url)), {
    execArgv: [],
    env: {
      PATH: process.env['PATH'],
      ...testEnv({ DATABASE_URL: shop.fixture.testDatabase.url, STORAGE_URL: `file:${shop.folder}` }),
    },
  });
  const [port] = (await once(child, 'message')) as [number];
  return { child, port };
}

/** @returns the storage keys of uploads that were answered */
async function killOnce(shop: FileShop, child: ChildProcess, port: number): Promise<string[]> {
  const waiting = new Set<Step>(STEPS);
  const atTheirSteps = new Promise<void>((resolve) => {
    child.on('message', (step: Step) => {
      waiting.delete(step);
      if (waiting.size === 0) resolve();
    });
  });
  // To rows of their own: one upload that stands still while it holds its row would keep the others waiting.
  const puts = STEPS.map((step, index) => put(shop, port, step, index + 1));
  await atTheirSteps;
  await delay(Math.random() * MAX_DELAY_MS);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return (await Promise.all(puts)).filter((key) => key !== undefined);
}

async function put(shop: FileShop, port: number, step: Step, row: number): Promise<string | undefined> {
  const { pathname } = new URL(await shop.promise({ filename: `${step}.bin` }, row));
  try {
    const url = `http://127.0.0.1:${port}${pathname}?step=${encodeURIComponent(step)}`;
    const response = await fetch(url, { method: 'PUT', body: randomBytes(FILE_BYTES) });
    return response.status === 201
      ? ((await response.json()) as { storagekey: string }).storagekey
      : undefined;
  } catch {
    // Killed: nobody knows, and either is right.
    return undefined;
  }
}

/** No bytes without a record, no record without its bytes, no event without both. */
async function contradictions(shop: FileShop): Promise<string[]> {
  const files = await shop.rows<{ storagekey: string; objectkey: string; sha256: Buffer }>(
    'select * from rowpost.file',
  );
  const events = await shop.rows<{ storagekey: string }>(
    `select file ->> 'storagekey' as storagekey from rowpost.outbox where operation = 'upload'`,
  );
  const left = await shop.rows<{ objectkey: string }>('select objectkey from rowpost.file_object');
  const objects = new Set((await shop.objects()).map((object) => path.relative(shop.folder, object)));
  const problems = left.map(({ objectkey }) => `${objectkey} was not swept`);
  for (const { storagekey, objectkey, sha256 } of files) {
    if (!objects.delete(objectkey)) {
      problems.push(`${storagekey} has a record and no bytes`);
      continue;
    }
    const bytes = await readFile(path.join(shop.folder, objectkey));
    if (!createHash('sha256').update(bytes).digest().equals(sha256))
      problems.push(`${storagekey} has other bytes`);
  }
  problems.push(...[...objects].map((object) => `${object} has bytes and no record`));
  const recorded = files.map((file) => file.storagekey).sort();
  if (
    events
      .map((event) => event.storagekey)
      .sort()
      .join() !== recorded.join()
  )
    problems.push('files and events differ');
  return problems;
}
