// Empty command lines and unknown commands or options.
import type { Command } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { allCommands } from '../../ts/cli/program.js';
import { callCli } from '../support/call-cli.js';
import { runCli } from '../support/child.js';

const test = suite('cli: mistakes');

test('chasqui alone says what to do, within 80 columns', async () => {
  const { code, stdout, stderr } = await runCli([], { npm_command: 'exec' });
  assert.is(code, 0);
  assert.is(stderr, '');
  for (const command of ['serve', 'search', 'desktop', 'bench', 'doctor']) {
    assert.match(stdout, new RegExp(`^  npx chasqui ${command}`, 'm'));
  }
  assert.match(stdout, /npx chasqui --help/);
  assert.equal(
    stdout.split('\n').filter((line) => line.length > 80),
    [],
  );
});

test('an invalid variable of `chasqui version` is one line', async () => {
  const { code, stdout, stderr } = await callCli(['version'], { CHASQUI_UPDATE_CHECK: 'x' });
  assert.equal([code, stdout], [2, '']);
  assert.match(stderr, /^chasqui: The environment variable CHASQUI_UPDATE_CHECK is 'x'.*\n$/);
});

const MISTAKES: [args: string[], says: RegExp][] = [
  [['serv'], /unknown command 'serv'\n\(Did you mean serve\?\)\n$/],
  [['desk'], /\(Did you mean desktop\?\)/],
  [['download', 'llama'], /\(Did you mean get\?\)/],
  [['pull'], /missing required argument 'model'\n\(Usage: npx chasqui get \[options\] <model>\)/],
  [['keys', 'creat'], /unknown command 'creat'\n\(Did you mean create\?\)/],
  [['keys', 'list-all-of-them'], /\(npx chasqui keys --help lists the commands\.\)/],
  [['get', 'ada/tiny', '--data-dir', '/big'], /unknown option '--data-dir'/],
  [['bogus'], /unknown command 'bogus'\n\(npx chasqui --help lists the commands\.\)/],
  [['model.gguf'], /\(To serve a file: npx chasqui serve --model model\.gguf\)/],
  [
    ['unsloth/Qwen3-8B-GGUF:Q4_K_M'],
    /\(To serve a model of the hub: npx chasqui serve -hf unsloth\/Qwen3-8B-GGUF:Q4_K_M\)/,
  ],
  [['serve', 'one.gguf', 'two.gguf'], /too many arguments.*\n\(To serve a file: npx chasqui serve --model one\.gguf\)/],
  [['serve', 'ada/one', '-hf', 'ada/two'], /'ada\/one' and -hf name different models/],
  [['serve', '--modl', 'x'], /unknown option '--modl'\n\(Did you mean one of --model, --mode\?\)/],
  [['serve', '--ctx', '99'], /\(Did you mean one of --ctx-size, /],
  [['serve', '--image-cache-m=5'], /\(Did you mean --image-cache\?\)/],
  [['serve', '--no-strct'], /\(Did you mean --no-strict\?\)/],
  [['serve', '--slot-save-path', 'x'], /'--slot-save-path'\n\(.*--cache-disk\.\)/],
  [['serve', '--tools', 'all'], /'--tools'\n\(.*--mcp-config\)/],
  [['serve', '--reasoning-format', 'none'], /--reasoning-format.*auto or deepseek/],
  [['serve', '-n', '0'], /--n-predict.*whole number of tokens from 1/],
  [['serve', '--app-port', '5'], /\(--app-port is an option of chasqui desktop\.\)/],
  [['serve', '-v', '--zzz'], /unknown option '--zzz'/],
  [['serve', '-v', '-n', '0'], /--n-predict.*whole number of tokens from 1/],
  [['serve', '--zzz'], /\(npx chasqui serve --help lists the options\.\)/],
  [['--port', '80'], /unknown option '--port'\n\(--port is an option of chasqui serve, chasqui desktop/],
  [['help', 'foo'], /unknown command 'foo'\n\(npx chasqui --help lists the commands\.\)/],
  [['help', 'keys', 'creat'], /unknown command 'creat'\n\(Did you mean create\?\)/],
  [['cloud', 'start', '--public-url', 'foo'], /--public-url must be an address such as https/],
  [['--versoin'], /\(Did you mean --version\?\)/],
  [['deploy'], /missing required argument 'script'\n\(Usage: npx chasqui deploy \[options\] <script>\)/],
];

for (const [args, says] of MISTAKES) {
  test(`says what was meant by: ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await callCli(args);
    assert.is(code, 2);
    assert.is(stdout, '');
    assert.match(stderr, says);
  });
}

test('help shows the command that follows', async () => {
  const { code, stdout } = await callCli(['help', 'keys', 'create']);
  assert.is(code, 0);
  assert.match(stdout, /^Usage: chasqui keys create /);
  assert.match((await callCli(['help'])).stdout, /^Usage: chasqui \[options\] \[command\]/);
});

test('help and version end as they should', async () => {
  for (const args of [['--help'], ['serve', '--help'], ['keys', 'create', '--help'], ['--version']]) {
    const { code, stderr } = await runCli(args);
    assert.is(code, 0);
    assert.is(stderr, '');
  }
});

test('version is a command, too', async () => {
  assert.is((await callCli(['version'])).stdout, (await callCli(['--version'])).stdout);
});

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (written) => {
      text += written;
    },
    getOutHelpWidth: () => 80,
  });
  command.outputHelp();
  return text;
}

test('the help of every command is within 80 columns', () => {
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  const wide = all(allCommands()).flatMap((command) => {
    const lines = helpOf(command).split('\n');
    return lines.filter((line) => line.length > 80).map((line) => `${command.name()}: ${line}`);
  });
  assert.equal(wide, []);
});

test.run();
