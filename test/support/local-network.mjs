// Gives a process an address in a local network: it sees 192.168.77.2 as an address of this computer, where 127.0.0.2 is.
import net from 'node:net';
import os from 'node:os';

const ADDRESS = '192.168.77.2';
const entry = { address: ADDRESS, family: 'IPv4', internal: false, netmask: '255.255.255.0', cidr: `${ADDRESS}/24` };

os.networkInterfaces = () => ({ lan: [entry] });

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  const [given] = args;
  if (given?.host === ADDRESS) args[0] = { ...given, host: '127.0.0.2' };
  return Reflect.apply(listen, this, args);
};
