/** The command line on a terminal, made by `script` of util-linux. */
import { spawnSync } from 'node:child_process';
import { type Child, startCommand } from './child.js';
import { nodeArguments } from './node-arguments.mjs';
import { until } from './until.js';

/** Whether there is a `script` that takes these options. */
export const hasTerminal = spawnSync('script', ['-qfec', 'true', '/dev/null'], { input: '' }).status === 0;

export class Terminal {
  readonly child: Child;
  #seen = 0;

  constructor(args: readonly string[], variables: NodeJS.ProcessEnv, columns = 80) {
    const command = [process.execPath, ...nodeArguments('ts/cli.ts'), ...args].map((word) => `'${word}'`).join(' ');
    const sized = `stty cols ${columns} rows 24; exec ${command}`;
    this.child = startCommand('script', ['-qfec', sized, '/dev/null'], { TERM: 'xterm', ...variables });
  }

  /** Types the keys, and resolves with what was written since the last call once it matches. */
  async type(keys: string, pattern: RegExp): Promise<string> {
    this.child.process.stdin?.write(keys);
    const written = () => this.child.output.stdout.slice(this.#seen);
    await until(() => pattern.test(written()) || this.child.process.exitCode !== null, `${pattern}`, 60_000);
    const shown = written();
    if (!pattern.test(shown)) throw new Error(`It ended: ${shown}`);
    this.#seen += shown.length;
    return shown;
  }
}
