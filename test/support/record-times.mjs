// Records the duration and the CPU time of each test file, child processes included, in the file CHASQUI_TEST_TIMES.
import fs from 'node:fs';
import process from 'node:process';
import { stripVTControlCharacters } from 'node:util';

const log = process.env.CHASQUI_TEST_TIMES;
const TICKS_PER_SECOND = 100;
/** How long the process may take to end by itself after the last test. */
const END_MS = 1000;

/** CPU seconds of this process and of its child processes that have ended. */
function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  let children = 0;
  if (process.platform === 'linux') {
    // The name of the program, in brackets, may contain spaces. cutime and cstime are the fields 16 and 17.
    const [, rest = ''] = /^.*\) (.*)$/s.exec(fs.readFileSync('/proc/self/stat', 'utf8')) ?? [];
    const fields = rest.split(' ');
    children = (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
  }
  return (user + system) / 1e6 + children;
}

const stillOpen = () => {
  const kinds = process.getActiveResourcesInfo().filter((kind) => !/^(PipeWrap|TTYWrap)$/.test(kind));
  return `Still open: ${kinds.join(', ')}`;
};

/** A timer or a socket that a test forgot would hold up the run for minutes. */
function endSoon() {
  const end = () => {
    console.error(`The process is ended, ${END_MS} ms after its last test. ${stillOpen()}`);
    process.exit();
  };
  setTimeout(end, END_MS).unref();
}

if (log) {
  delete process.env.CHASQUI_TEST_TIMES;
  let current = { file: null, began: performance.now(), cpu: 0 };
  const next = (file) => {
    const now = { file, began: performance.now(), cpu: cpuSeconds() };
    const line = { file: current.file, seconds: (now.began - current.began) / 1000, cpu: now.cpu - current.cpu };
    fs.appendFileSync(log, `${JSON.stringify(line)}\n`);
    current = now;
  };
  const { write } = process.stdout;
  process.stdout.write = function (text, ...rest) {
    // uvu prints the name of a file before it runs the file's tests.
    const [, file] = /^(\S+\.test\.ts)\n$/.exec(stripVTControlCharacters(String(text))) ?? [];
    if (file) next(file);
    else if (/^\s*Duration:/.test(String(text))) endSoon();
    return write.call(this, text, ...rest);
  };
  process.on('exit', () => next(null));
  // run.mjs asks a tier that hangs.
  process.on('SIGUSR2', () => console.error(stillOpen()));
}
