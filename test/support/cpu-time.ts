import process from 'node:process';

/** CPU milliseconds of this process so far. Unlike a clock, they do not depend on how busy the machine is. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
