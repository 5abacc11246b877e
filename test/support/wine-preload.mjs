// Loaded into each Node.js in Wine 8, to replace calls that it lacks.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

// Without TCP_KEEPALIVE, libuv refuses to connect, which ends `fetch`.
net.Socket.prototype.setKeepAlive = function setKeepAlive() {
  return this;
};

// Wine creates no symbolic link and reports success. Windows refuses links of accounts without the privilege.
fs.symlinkSync = (target, path) => {
  throw Object.assign(new Error(`EPERM: operation not permitted, symlink '${target}' -> '${path}'`), { code: 'EPERM' });
};
syncBuiltinESMExports();
