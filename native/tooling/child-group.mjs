// Runs programs in process groups of their own. SIGTERM, SIGINT and SIGHUP end the whole group, compilers included, before
// they end this process: a signal to this process alone would leave them running.
import { spawn } from 'node:child_process';
import process from 'node:process';

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
const hasGroups = process.platform !== 'win32';

/** Like `spawn`. The first signal waits until the group has ended, a second one kills it. */
export function spawnGroup(command, args, options) {
  const child = spawn(command, args, { ...options, detached: hasGroups });
  let received;
  const onSignal = (signal) => {
    endGroup(child, received ? 'SIGKILL' : 'SIGTERM');
    received ??= signal;
  };
  for (const signal of signals) process.on(signal, onSignal);
  // Emitted after `error`, too. The output closes when its last process has ended.
  child.once('close', () => {
    for (const signal of signals) process.off(signal, onSignal);
    if (received) process.kill(process.pid, received);
  });
  return child;
}

/** Runs a program in a group. Resolves with its status and output, and with the error if it could not start. */
export function runGroup(command, args, options) {
  const child = spawnGroup(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: null, error, ...output }));
    child.once('close', (status) => resolve({ status, ...output }));
  });
}

function endGroup(child, signal) {
  if (child.pid === undefined) return;
  if (!hasGroups) return spawn('taskkill', ['/PID', String(child.pid), '/T', '/F'], { stdio: 'ignore' });
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
