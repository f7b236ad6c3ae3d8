import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { SystemUser } from '../../src/embedded/systemUser.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import type { Link } from '../wire/link.js';
import { queryServer } from './queryServer.js';
import type { Credentials } from './certificates.js';
import { signalOne, signalTrees } from './processTree.js';
import { dataFolder, type NodePlace } from './settings.js';

const RESTART_MS = 1_000;

/** A server of the cluster: Patroni, its PostgreSQL, and its links to etcd. */
export class PatroniNode {
  #patroni: ChildProcess | undefined;
  #log: FileHandle | undefined;

  constructor(
    readonly place: NodePlace,
    private readonly links: readonly Link[],
    readonly credentials: Credentials,
    private readonly user: SystemUser | undefined,
  ) {}

  get name(): string {
    return this.place.name;
  }

  get configFile(): string {
    return path.join(this.place.folder, 'patroni.yml');
  }

  /** Patroni starts PostgreSQL, and brings it back as a standby if another server leads. */
  async start(): Promise<void> {
    this.#log ??= await open(path.join(this.place.folder, 'log'), 'a');
    const patroni = spawn('patroni', [this.configFile], {
      cwd: this.place.folder,
      env: patroniEnv(this.place.folder),
      stdio: ['ignore', this.#log.fd, this.#log.fd],
      detached: true,
      ...this.user,
    });
    const callOff = watchOver(patroni.pid ?? 0, []);
    patroni.once('exit', () => {
      callOff();
      // It ends when it finds no etcd at its start; a supervisor starts it again.
      if (this.#patroni === patroni) setTimeout(() => void this.#startAgain(patroni), RESTART_MS);
    });
    patroni.unref();
    this.#patroni = patroni;
  }

  async #startAgain(ended: ChildProcess): Promise<void> {
    if (this.#patroni === ended) await this.start();
  }

  /** Patroni and PostgreSQL with all its sessions, as when the machine loses power. */
  async kill(): Promise<void> {
    const patroni = this.#patroni;
    this.#patroni = undefined;
    if (!patroni) return;
    const hasEnded = patroni.exitCode !== null || patroni.signalCode !== null;
    const exited = hasEnded ? undefined : once(patroni, 'exit');
    patroni.ref();
    await this.#signal(hasEnded ? undefined : patroni, 'SIGKILL');
    await exited;
  }

  /** Everything on it stops; its connections stay, and nobody responds. */
  async freeze(): Promise<void> {
    const frozen = await this.#signal(this.#patroni, 'SIGSTOP');
    // A stopped process does not hear its watchdog.
    process.once('exit', () => {
      for (const pid of frozen) signalOne(pid, 'SIGCONT');
    });
  }

  /** It goes on where it stopped. */
  async thaw(): Promise<void> {
    await this.#signal(this.#patroni, 'SIGCONT');
  }

  cutOffFromEtcd(): void {
    for (const link of this.links) link.stall();
  }

  reconnectToEtcd(): void {
    for (const link of this.links) link.heal();
  }

  /** What Patroni's REST API says; undefined without a response. */
  async ask<Response>(route: string, timeoutMs: number): Promise<Response | undefined> {
    try {
      const { ok, body } = await queryServer(this.place.apiPort, route, this.credentials, timeoutMs);
      return ok ? (body as Response) : undefined;
    } catch {
      return undefined;
    }
  }

  async end(): Promise<void> {
    await this.kill();
    for (const link of this.links) link.close();
    await this.#log?.close();
  }

  #signal(patroni: ChildProcess | undefined, signal: NodeJS.Signals): Promise<ReadonlySet<number>> {
    const pids = [...this.#postmaster(), patroni?.pid];
    return signalTrees(
      pids.filter((pid) => pid !== undefined),
      signal,
    );
  }

  /** Not a child of Patroni, which may restart without it. */
  #postmaster(): readonly number[] {
    try {
      const file = readFileSync(path.join(dataFolder(this.place), 'postmaster.pid'), 'utf8');
      return [Number(file.split('\n')[0])];
    } catch {
      return []; // it does not run
    }
  }
}

/** Patroni's programs are Python, which needs a UTF-8 locale to print. */
export function patroniEnv(home: string): NodeJS.ProcessEnv {
  return { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: home, LC_ALL: 'C.UTF-8' };
}
