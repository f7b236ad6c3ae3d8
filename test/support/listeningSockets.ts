import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** An address that a process listens on, from Linux's /proc. */
export interface ListeningSocket {
  readonly host: string;
  readonly port: number;
}

const LISTENING = '0A';

/** All TCP sockets that a process and its descendants listen on. */
export function listeningSockets(pid: number): readonly ListeningSocket[] {
  const inodes = new Set(descendants(pid).flatMap(socketInodes));
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === LISTENING && inodes.has(inode ?? ''))
      .map(([, local = '']) => {
        const [host = '', port = ''] = local.split(':');
        return { host: addressOf(host), port: Number.parseInt(port, 16) };
      }),
  );
}

function descendants(pid: number): readonly number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(name)] as const);
  const found = [pid];
  for (const ancestor of found) {
    found.push(...parents.filter(([, parent]) => parent === ancestor).map(([child]) => child));
  }
  return found;
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return -1; // It has ended.
  }
}

function socketInodes(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // Closed meanwhile.
      }
    });
  } catch {
    return []; // It has ended.
  }
}

/** Words in the byte order of the machine: little-endian on all that we run on. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => [...Buffer.from(word, 'hex')].reverse());
  if (bytes.length === 4) return bytes.join('.');
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/(.{4})(?!$)/g, '$1:');
}
