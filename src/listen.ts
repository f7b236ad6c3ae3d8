import type { Server } from 'node:http';
import { UsageError } from './errors.js';

/** @param variable the setting that chooses the port, for the message if the port is taken */
export function listen(server: Server, port: number, variable: 'PORT' | 'HEALTH_PORT'): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      reject(taken ? new UsageError(`port ${port} is taken: set ${variable} to another`) : error);
    });
    server.listen(port, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}
