// The completion scripts, run by their shells.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callCli } from '../support/call-cli.js';
import { startCliInShell } from '../support/child.js';

const test = suite<{ folder: string }>('cli: completion');
test.before((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-completion-'));
});
test.after(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

/** Programs that print the candidates for a command line with an incomplete last word. */
const SHELLS: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) =>
    `source ${script}; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _chasqui; echo "\${COMPREPLY[@]}"`,
  zsh: (script, words) =>
    `compdef() {}; _files() {}; compadd() { print -- "$@" }; source ${script}; ` +
    `words=(${words.join(' ')}); CURRENT=${words.length}; _chasqui`,
  fish: (script, words) => `source ${script}; complete -C "${words.join(' ')}"`,
};

for (const [shell, program] of Object.entries(SHELLS)) {
  const isThere = spawnSync(shell, ['-c', 'true']).error === undefined;
  if (!isThere && shell !== 'bash') continue;
  test(`${shell} completes commands, aliases and options`, async ({ folder }) => {
    const script = path.join(folder, shell);
    fs.writeFileSync(script, (await callCli(['completion', shell])).stdout);
    const candidates = (...words: string[]) => {
      const { stdout, stderr, status } = spawnSync(shell, ['-c', program(script, ['chasqui', ...words])], {
        encoding: 'utf8',
        env: { ...process.env, HOME: folder },
      });
      assert.equal({ status, stderr }, { status: 0, stderr: '' });
      return stdout.split(/\s+/);
    };
    const includes = (words: string[], ...expected: string[]) =>
      assert.equal(
        expected.filter((word) => !words.includes(word)),
        [],
      );
    includes(candidates('se'), 'serve', 'search');
    includes(candidates('keys', 'cr'), 'create');
    includes(candidates('pull', '--fo'), '--force');
    includes(candidates('keys', 'rm', '--js'), '--json');
  });
}

test('a reader that leaves early causes no error', async () => {
  const { output, exited } = startCliInShell('"$@" | head -c 1', ['completion', 'fish']);
  assert.is((await exited).code, 0);
  assert.equal(output, { stdout: 'c', stderr: '' });
});

test('an unknown shell is named with those that exist', async () => {
  const { code, stderr } = await callCli(['completion', 'csh']);
  assert.is(code, 2);
  assert.match(stderr, /bash, zsh, fish/);
});

test.run();
