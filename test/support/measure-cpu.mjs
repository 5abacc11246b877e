// Writes the CPU time of a tier, its child processes included, to the file that CHASQUI_TEST_CPU_TIME names.
import fs from 'node:fs';
import process from 'node:process';

const file = process.env.CHASQUI_TEST_CPU_TIME;
const TICKS_PER_SECOND = 100;

/** Of the children that have ended and been waited for. */
function childSeconds() {
  if (process.platform !== 'linux') return 0;
  // The name of the program, in brackets, may contain spaces. cutime and cstime are the fields 16 and 17.
  const [, rest = ''] = /^.*\) (.*)$/s.exec(fs.readFileSync('/proc/self/stat', 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

if (file) {
  delete process.env.CHASQUI_TEST_CPU_TIME;
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    fs.writeFileSync(file, ((user + system) / 1e6 + childSeconds()).toFixed(1));
  });
}
