/** Runs a command of the shell, where `$0` is this Node; it must `exec` what it starts. */
import { spawn } from 'node:child_process';
import type { Child, Exit } from './child.js';

export function spawnInShell(command: string): Child {
  const process_ = spawn('sh', ['-c', command, process.execPath], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  process_.stdout.on('data', (data) => {
    output.stdout += data;
  });
  process_.stderr.on('data', (data) => {
    output.stderr += data;
  });
  const exited = new Promise<Exit>((resolve) => {
    process_.on('close', (code, signal) => resolve({ code, signal }));
  });
  return { process: process_, output, exited };
}
