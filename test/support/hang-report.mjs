// For run.mjs: what a tier that hangs was doing, and the end of all its processes.
import fs from 'node:fs';
import process from 'node:process';
import { stripVTControlCharacters } from 'node:util';

const MAX_COMMAND_LENGTH = 200;
const TICKS_PER_SECOND = 100;

/**
 * The test file, the suite, and how many of its tests have ended, according to the output of uvu. uvu prints the name of the
 * file, then a line per suite: its name, and a mark after each test.
 */
export function runningTest(output) {
  const text = stripVTControlCharacters(output);
  const file = [...text.matchAll(/^\S+\.test\.ts$/gm)].at(-1)?.[0];
  if (file === undefined) return 'before its first test file';
  const line = text.slice(text.lastIndexOf('\n') + 1);
  const suite = line.replace(/[•✘\s]+$/, '').trim();
  const ended = line.match(/[•✘]/g)?.length ?? 0;
  return `in ${file}${suite && `, suite "${suite}"`}, after ${ended} tests of the suite`;
}

/** The process and its descendants, each below its parent; empty without /proc. */
export function processTree(pid, depth = 0, all = readProcesses()) {
  const children = all
    .filter(({ parent }) => parent === pid)
    .flatMap((child) => processTree(child.pid, depth + 1, all));
  return [...all.filter((each) => each.pid === pid).map((each) => ({ ...each, depth })), ...children];
}

export function describeProcess({ pid, state, cpu, depth, command }) {
  return `${'  '.repeat(depth)}${pid} ${state} ${cpu.toFixed(1)} s of CPU time: ${command}`;
}

/** Kills a process and its descendants: servers would outlive the tests that started them. */
export function killTree(pid) {
  // Parents first: they cannot restart the others.
  for (const each of [pid, ...processTree(pid).map((one) => one.pid)]) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

function readProcesses() {
  if (!fs.existsSync('/proc/self/stat')) return [];
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess);
}

function readProcess(name) {
  try {
    const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8');
    // The name of the program, in brackets, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const cpu = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    const command = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, MAX_COMMAND_LENGTH);
    return [{ pid: Number(name), state: fields[0], parent: Number(fields[1]), cpu, command }];
  } catch {
    return [];
  }
}
