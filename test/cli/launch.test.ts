// Coding agents are started with what they need: here by programs of the same names that say how they were started.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { runCli } from '../support/child.js';
import { FakeEngine } from '../support/fake-engine.js';

interface Context {
  folder: string;
  url: string;
  close(): Promise<void>;
  launch(args: string[], variables?: NodeJS.ProcessEnv): ReturnType<typeof runCli>;
}

const test = suite<Context>('cli: starting coding agents');

const MODEL = "ada/it's-8B-GGUF:Q4_K_M";

/** Says with what it was started, and ends as it is told. */
const AGENT = `#!/usr/bin/env node
const { env, argv } = process;
console.log(JSON.stringify({ args: argv.slice(2), env }));
process.exit(Number(env.ENDS_WITH ?? 0));
`;

test.before(async (context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-launch-'));
  const bin = path.join(context.folder, 'bin');
  mkdirSync(bin);
  for (const name of ['claude', 'codex', 'opencode']) {
    writeFileSync(path.join(bin, name), AGENT);
    chmodSync(path.join(bin, name), 0o755);
  }
  const app = buildApp(ManagedPool.of(new FakeEngine({ model: { id: MODEL } })), runtime);
  context.url = await app.listen({ host: '127.0.0.1', port: 0 });
  context.close = () => app.close();
  context.launch = (args, variables = {}) =>
    runCli(['launch', '--url', context.url, ...args], {
      PATH: `${bin}${path.delimiter}${process.env.PATH}`,
      CHASQUI_HOME: context.folder,
      CHASQUI_API_KEY: '',
      ...variables,
    });
});
test.after(async ({ folder, close }) => {
  await close();
  rmSync(folder, { recursive: true });
});

/** Arguments and environment of the started agent. */
async function started({ launch }: Context, args: string[], variables?: NodeJS.ProcessEnv) {
  const { code, stdout, stderr } = await launch(args, variables);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout) as { args: string[]; env: Record<string, string> };
}

test('claude gets the address, a key, and the model under each of its names', async (context) => {
  const { args, env } = await started(context, ['claude', '--', '-p', 'Hi']);
  assert.equal(args, ['--model', MODEL, '-p', 'Hi']);
  assert.is(env.ANTHROPIC_BASE_URL, context.url);
  assert.is(env.ANTHROPIC_AUTH_TOKEN, 'chasqui');
  for (const size of ['OPUS', 'SONNET', 'HAIKU']) assert.is(env[`ANTHROPIC_DEFAULT_${size}_MODEL`], MODEL);
});

test('codex gets a provider of its own; the key comes from the environment', async (context) => {
  const { args, env } = await started(context, ['codex'], { CHASQUI_API_KEY: 'sk-mine' });
  assert.ok(args.includes(`model_providers.chasqui.base_url="${context.url}/v1"`), String(args));
  assert.ok(args.includes('model_providers.chasqui.wire_api="responses"'));
  assert.equal(args.slice(-2), ['-m', MODEL]);
  assert.is(env.CHASQUI_API_KEY, 'sk-mine');
});

test('opencode gets a whole configuration', async (context) => {
  const { env } = await started(context, ['opencode', '--model', MODEL]);
  const config = JSON.parse(env.OPENCODE_CONFIG_CONTENT as string);
  assert.is(config.model, `chasqui/${MODEL}`);
  assert.is(config.provider.chasqui.options.baseURL, `${context.url}/v1`);
  assert.equal(Object.keys(config.provider.chasqui.models), [MODEL]);
});

test('with --dry-run and --json nothing is started, and the key is not shown', async ({ launch, url }) => {
  const key = { CHASQUI_API_KEY: 'sk-secret' };
  for (const name of ['claude', 'codex', 'opencode']) {
    const dry = await launch([name, '--dry-run'], key);
    assert.is(dry.code, 0, dry.stderr);
    assert.match(dry.stdout, new RegExp(`^${name}`, 'm'));
    assert.not.match(dry.stdout, /sk-secret/);
    const json = await launch([name, '--json'], key);
    assert.not.match(json.stdout, /sk-secret/);
    const recipe = JSON.parse(json.stdout);
    assert.equal([recipe.agent, recipe.command], [name, name]);
    assert.ok(JSON.stringify(recipe).includes(url));
  }
  // What is shown is what a shell makes of it.
  const { stdout } = await launch(['claude', '--dry-run']);
  const said = spawnSync('sh', ['-c', `${stdout.replace(/^claude /m, 'printf "%s\\n" "$ANTHROPIC_BASE_URL" ')}`]);
  assert.is(String(said.stdout), `${url}\n--model\n${MODEL}\n`);
});

test('its exit code is the command’s; one that is not here, and a server that is not, say what to do', async (context) => {
  assert.is((await context.launch(['claude'], { ENDS_WITH: '7' })).code, 7);
  const lacking = await context.launch(['claude'], { PATH: path.dirname(process.execPath) });
  assert.equal([lacking.code, /npm install -g/.test(lacking.stderr)], [1, true], lacking.stderr);
  const nowhere = await runCli(['launch', 'codex', '--url', 'http://127.0.0.1:9'], { CHASQUI_HOME: context.folder });
  assert.is(nowhere.code, 3);
  assert.match(
    nowhere.stderr,
    /no server could be reached at http:\/\/127\.0\.0\.1:9: .*; start one with npx chasqui serve/,
  );
  const unknownModel = await context.launch(['codex', '--model', 'nosuch']);
  assert.is(unknownModel.code, 5);
  assert.match(unknownModel.stderr, /does not have nosuch; it has ada\/it's-8B-GGUF:Q4_K_M/);
  const unknown = await context.launch(['vi']);
  assert.match(unknown.stderr, /claude, codex, opencode/);
});

test.run();
