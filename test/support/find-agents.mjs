// The coding agents that the tier `agents` tries, and whether this machine can run them. Plain JavaScript, because
// test/run.mjs reads it too.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** Their packages, at versions that were tried, and the folder of the program in each. */
export const AGENTS = {
  codex: { name: '@openai/codex', version: '0.169.0', bin: '.bin' },
  claudeCode: {
    name: '@anthropic-ai/claude-code-linux-x64',
    version: '2.1.330',
    bin: '@anthropic-ai/claude-code-linux-x64',
  },
  opencode: { name: 'opencode-ai', version: '1.18.33', bin: '.bin' },
};

/** Downloads are kept: together they are about a gigabyte. */
export function agentsFolder() {
  return path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'chasqui', 'agents');
}

export function folderOf({ name, version }) {
  return path.join(agentsFolder(), `${name.replace(/[@/]+/g, '-').replace(/^-/, '')}-${version}`);
}

/** A namespace of its own has a network that leads nowhere. Accounts other than root need one of users as well. */
export const UNSHARE = process.getuid?.() === 0 ? ['--net'] : ['--user', '--map-root-user', '--net'];

/** Why the agents cannot be tried here, or undefined. */
export function noAgents() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'its programs are for linux-x64';
  const { status } = spawnSync('unshare', [...UNSHARE, 'ip', 'link', 'set', 'lo', 'up']);
  if (status !== 0) return 'no network namespace can be made: it takes unshare and ip, and the right to use them';
  const missing = Object.values(AGENTS).filter((agent) => !fs.existsSync(folderOf(agent)));
  if (missing.length === 0) return undefined;
  const asked = spawnSync('npm', ['view', missing[0].name, 'version', '--prefer-offline']);
  return asked.status === 0 ? undefined : 'no package registry can be reached, and the agents are not in the cache';
}
