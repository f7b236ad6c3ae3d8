// Loaded into each process of the fleet: connections to one port lead to another. A tenant's SMTP server has one address,
// which is stored; each process is to reach it by a link of its own.
import { Socket } from 'node:net';

const [from, to] = (process.env.FAULT_REDIRECT ?? '').split(':').map(Number);
const connect = Socket.prototype.connect;

Socket.prototype.connect = function (...args) {
  // `net.connect` passes its arguments on as a list of options and a callback.
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (typeof options === 'object' && Number(options?.port) === from) options.port = to;
  return connect.apply(this, args);
};
