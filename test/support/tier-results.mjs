// For run.mjs: what the output of a tier means, and the summary of all tiers.
import { stripVTControlCharacters } from 'node:util';
import { runningTest } from './hang-report.mjs';

const MINUTE_MS = 60_000;
const SLOWEST_FILES = 10;
/** The summary repeats this many lines of the failures of a tier. */
const MAX_FAILURE_LINES = 80;

/**
 * uvu prints its totals last: without them, the process ended early, for example because `before` or `after` of a suite threw.
 * `errors` is the end of standard error.
 */
export function judge(output, errors, end) {
  const plain = stripVTControlCharacters(output);
  const [, total, passed, skipped] = (
    /Total:\s+(\d+)\s+Passed:\s+(\d+)\s+Skipped:\s+(\d+)/.exec(plain) ?? ['', 0, 0, 0]
  ).map(Number);
  const failures = failedTests(plain);
  const early = earlyEnd(output, total, end);
  const wrongCode = end.code !== 0 && total === passed ? `ended with exit code ${end.code}` : '';
  if (early || (wrongCode && skipped === 0)) {
    const problem = early || wrongCode;
    return {
      passed,
      failed: total - passed + 1,
      problem,
      failures: [...failures, errors.trim()].filter(Boolean).join('\n'),
    };
  }
  const problem =
    skipped > 0 ? `${skipped} skipped, counted as failed: only a whole tier may be left out, by its "when"` : '';
  return { passed, failed: total - passed + skipped, problem, failures: failures.join('\n') };
}

function earlyEnd(output, total, { code, signal, timedOut, limit }) {
  const where = runningTest(output);
  if (timedOut) return `was still running after ${(limit / MINUTE_MS).toFixed(1)} minutes ${where}`;
  if (signal) return `was ended by ${signal} ${where}`;
  return total === 0 ? `ended with exit code ${code} ${where}` : '';
}

/** uvu prints a failed test below its suite: a line with FAIL, and indented lines. */
function failedTests(plain) {
  const found = [];
  let isFailure = false;
  for (const line of plain.split('\n')) {
    isFailure = /^ {2,}FAIL {2}/.test(line) || (isFailure && /^( {4}|$)/.test(line));
    if (isFailure && line.trim()) found.push(line);
  }
  return found.slice(0, MAX_FAILURE_LINES);
}

/** Prints the counts, the slowest files and all failures. Returns the exit code. */
export function summarise(results) {
  const width = Math.max(...results.map(({ name }) => name.length));
  console.log('');
  for (const { name, passed, failed, problem, note } of results) {
    const counts = `${passed} passed, ${failed} failed`.padEnd(24);
    console.log(`  ${name.padEnd(width)}  ${counts}  ${[note, problem].filter(Boolean).join('; ')}`);
  }
  printSlowest(results.flatMap(({ files }) => files).filter(({ file }) => file !== null));
  for (const { name, failures } of results) if (failures) console.log(`\nFailures in ${name}\n${failures}`);
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const failed = sum('failed');
  console.log(`\n${sum('passed')} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function printSlowest(files) {
  console.log('\nSlowest files');
  for (const { tier, file, seconds, cpu } of files.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_FILES)) {
    console.log(
      `  ${seconds.toFixed(1).padStart(6)} s  ${cpu.toFixed(1).padStart(6)} s of CPU time  test/${tier}/${file}`,
    );
  }
}
