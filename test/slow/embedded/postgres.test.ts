import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/embedded/postgres.js';
import { waitFor } from '../../support/waitFor.js';

const HOLDER = fileURLToPath(new URL('../../embedded/holdPostgres.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;

describe('embedded PostgreSQL', () => {
  let folder: string;
  let dataDir: string;
  const started: EmbeddedPostgres[] = [];
  const holders: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost embedded '));
    await chmod(folder, 0o755);
    dataDir = path.join(folder, '.rowpost');
  });
  afterEach(async () => {
    for (const holder of holders.splice(0)) {
      if (holder.exitCode !== null || holder.signalCode !== null) continue;
      const exited = once(holder, 'exit');
      holder.kill('SIGTERM');
      await exited;
    }
    for (const server of started.splice(0)) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (say: (line: string) => void = () => undefined): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({ dataDir, say });
    started.push(server);
    return server;
  };
  const hold = async (...args: string[]): Promise<{ holder: ChildProcess; url: string; owned: boolean }> => {
    const holder = spawn(process.execPath, ['--import', 'tsx', HOLDER, dataDir, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    holders.push(holder);
    const output = createInterface({ input: holder.stdout });
    const [line] = (await Promise.race([once(output, 'line'), once(output, 'close')])) as [string?];
    if (line === undefined) throw new Error('the holder ended before it had a server');
    return { holder, ...(JSON.parse(line) as { url: string; owned: boolean }) };
  };
  const serverPid = async (): Promise<number> =>
    Number((await readFile(path.join(dataDir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]);

  it('serves UTF-8 to a non-superuser, with a password unreadable by others', async () => {
    const { url } = await start();
    const rows = await query(
      url,
      `select current_user as role, rolsuper, rolcreaterole, rolcreatedb, lower('ÄÉ') as folded,
        current_setting('server_encoding') as encoding from pg_roles where rolname = current_user`,
    );
    expect(rows).to.deep.equal([
      {
        role: 'rowpost',
        rolsuper: false,
        rolcreaterole: true,
        rolcreatedb: true,
        folded: 'äé',
        encoding: 'UTF8',
      },
    ]);
    const wrong = new URL(url);
    wrong.password = 'guess';
    expect(await failure(query(wrong.href, 'select 1'))).to.include('password authentication failed');
    expect((await stat(path.join(dataDir, 'postgres/password'))).mode & 0o777).to.equal(0o600);
  });

  it('keeps its data and port across a restart', async () => {
    const first = await start();
    await query(first.url, 'create table kept as select 42 as response');
    await first.stop();
    const second = await start();
    expect(second.url).to.equal(first.url);
    expect(await query(second.url, 'select response from kept')).to.deep.equal([{ response: 42 }]);
  });

  it('uses another port when its own is taken', async () => {
    const first = await start();
    await first.stop();
    const port = Number(new URL(first.url).port);
    const squatter = createServer().listen(port, '127.0.0.1');
    await once(squatter, 'listening');
    try {
      const second = await start();
      expect(Number(new URL(second.url).port)).to.not.equal(port);
      expect(await query(second.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    } finally {
      squatter.close();
    }
  });

  it('recovers all committed data after its server was killed', async () => {
    const lines: string[] = [];
    const first = await start((line) => lines.push(line));
    await query(first.url, 'create table kept as select 42 as response');
    process.kill(await serverPid(), 'SIGKILL');
    await waitFor('the loss to be told', () => lines.some((line) => line.includes('ended unexpectedly')));
    const second = await start();
    expect(second.owned).to.be.true;
    expect(await query(second.url, 'select response from kept')).to.deep.equal([{ response: 42 }]);
  });

  it('ignores a stale postmaster.pid whose pid belongs to another program', async () => {
    const first = await start();
    await first.stop();
    const port = new URL(first.url).port;
    await writeFile(
      path.join(dataDir, 'postgres/data/postmaster.pid'),
      `${process.pid}\n${dataDir}\n1\n${port}\n\n127.0.0.1\n\nready\n`,
    );
    const second = await start();
    expect(second.owned).to.be.true;
  });

  it('joins the server of another process and leaves it running', async () => {
    const { url } = await hold();
    const joined = await start();
    expect(joined).to.include({ url, owned: false });
    await joined.stop();
    expect(await query(url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
  });

  it('starts one server for concurrent processes in a new folder', async () => {
    const all = await Promise.all([hold(), hold(), hold()]);
    expect(new Set(all.map(({ url }) => url)).size).to.equal(1);
    expect(all.filter(({ owned }) => owned)).to.have.length(1);
  });

  it('ends with its process, even one that was killed', async () => {
    const { holder } = await hold('throwaway');
    const pid = await serverPid();
    holder.kill('SIGKILL');
    await waitFor('PostgreSQL to end', () => !isAlive(pid));
    await waitFor('the throw-away folder to go', () => !existsSync(dataDir));
  });

  it("says what to do when its folder can't be created", async () => {
    await writeFile(path.join(folder, 'file'), '');
    dataDir = path.join(folder, 'file/.rowpost');
    expect(await failure(start())).to.match(/can't make the folder .*ROWPOST_DATA_DIR/);
  });

  if (isRoot) {
    it('as root runs under an unprivileged account', async () => {
      await start();
      const { uid } = await stat(`/proc/${await serverPid()}`);
      expect(uid).to.not.equal(0);
    });

    it('as root makes its own folder traversable where that suffices', async () => {
      await mkdir(dataDir, { mode: 0o700 });
      const lines: string[] = [];
      await start((line) => lines.push(line));
      expect(await realpath(path.join(dataDir, 'postgres'))).to.include(folder);
      expect((await stat(dataDir)).mode & 0o777).to.equal(0o711);
      expect(lines).to.deep.equal([]);
    });

    it("as root keeps the data elsewhere when that account can't reach the folder", async () => {
      await chmod(folder, 0o700);
      const lines: string[] = [];
      const first = await start((line) => lines.push(line));
      const home = await realpath(path.join(dataDir, 'postgres'));
      try {
        expect(home).to.match(/^\/var\/lib\/rowpost\//);
        expect(lines.join()).to.include(home);
        await query(first.url, 'create table kept as select 42 as response');
        await first.stop();
        const second = await start();
        expect(await query(second.url, 'select response from kept')).to.deep.equal([{ response: 42 }]);
        await second.stop();
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    });
  } else {
    it('as an ordinary user keeps everything in its own folder', async () => {
      await start();
      expect(await realpath(path.join(dataDir, 'postgres'))).to.equal(
        path.join(await realpath(dataDir), 'postgres'),
      );
      expect((await stat(dataDir)).mode & 0o777).to.equal(0o700);
    });

    it('as an ordinary user says when the folder belongs to someone else', async () => {
      await mkdir(path.join(folder, 'closed'));
      await chmod(path.join(folder, 'closed'), 0o500);
      dataDir = path.join(folder, 'closed/.rowpost');
      expect(await failure(start())).to.match(/can't make the folder .*EACCES/);
      dataDir = path.join(folder, 'closed');
      expect(await failure(start())).to.include('belongs to another account');
    });
  }
});

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The message of the error that the promise ends with. */
async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'it did not fail',
    (error: unknown) => (error as Error).message,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
