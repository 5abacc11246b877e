// Chats in the terminal, and prompts from pipes, by the commands `chat` and `run`.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCli, startChild } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { picture } from '../support/image-files.js';
import { writeHollowDecoder } from '../support/random-model.js';
import { REASONING, writeScriptedModel } from '../support/scripted-model.js';
import { hasTerminal, Terminal } from '../support/terminal.js';

interface Context {
  folder: string;
  hub: FakeHub;
  variables: Record<string, string>;
}

const test = suite<Context>('model-cli: chat');
const GREETING = 'Hello! I am the chasqui demo model. How can I help you?';
const ESC = '\u001b';
/** A prompt that is shown again. */
const PROMPT = new RegExp(`>>> ${ESC}\\[5G$`);
const terminalTest = hasTerminal ? test : test.skip;

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-chat-'));
  context.hub = await fakeHub({
    'chasqui/demo-GGUF': {
      files: { 'demo-Q4_K_M.gguf': fs.readFileSync(demoModelPath) },
      gguf: { architecture: 'llama' },
    },
  });
  context.variables = {
    HF_ENDPOINT: context.hub.url,
    HF_HUB_CACHE: path.join(context.folder, 'cache'),
    CHASQUI_HOME: path.join(context.folder, 'home'),
    HOME: context.folder,
    NO_COLOR: '',
  };
});

test.after(async ({ folder, hub }) => {
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

async function piped(text: string, args: readonly string[], variables: NodeJS.ProcessEnv) {
  const child = startChild('ts/cli.ts', args, variables);
  child.process.stdin?.end(text);
  return { ...(await child.exited), ...child.output };
}

test('a prompt from a pipe or the command line gets the answer alone', async ({ variables }) => {
  const fromPipe = await piped('Hello\n', ['run', 'demo', '--temp', '0'], variables);
  assert.equal([fromPipe.code, fromPipe.stdout, fromPipe.stderr], [0, `${GREETING}\n`, '']);
  const fromWords = await runCli(['chat', demoModelPath, 'Hello', '--temp', '0', '--verbose'], variables);
  assert.equal([fromWords.code, fromWords.stdout], [0, `${GREETING}\n`]);
  assert.match(fromWords.stderr, /^16 tokens, [\d.]+\/s; prompt: 9 tokens, [\d.]+\/s\n$/);
});

test('JSON has the answer and its figures', async ({ variables }) => {
  const { code, stdout, stderr } = await piped('Hello', ['run', 'demo', '--temp', '0', '--json'], variables);
  assert.equal([code, stderr], [0, '']);
  const { prompt_ms, completion_ms, ...reply } = JSON.parse(stdout);
  assert.ok(prompt_ms > 0 && completion_ms > 0);
  assert.equal(reply, {
    model: 'chasqui-demo',
    text: GREETING,
    reasoning: '',
    finish_reason: 'stop',
    prompt_tokens: 9,
    cached_tokens: 0,
    completion_tokens: 16,
  });
});

test('a model of the hub is downloaded first', async ({ variables }) => {
  const args = ['run', 'chasqui/demo-GGUF', 'Hello', '--temp', '0'];
  const first = await runCli(args, variables);
  assert.equal([first.code, first.stdout], [0, `${GREETING}\n`]);
  assert.match(first.stderr, /^chasqui\/demo-GGUF:Q4_K_M: completed /m);
  const again = await runCli(args, variables);
  assert.equal([again.code, again.stdout, again.stderr], [0, `${GREETING}\n`, '']);
});

test('a model of the hub that does not fit into memory is not downloaded', async ({ hub, variables }) => {
  const files = { 'huge-Q4_K_M.gguf': fs.readFileSync(demoModelPath) };
  hub.put('chasqui/huge-GGUF', { files, gguf: { architecture: 'llama' }, sizeBytes: 1e14 });
  for (const command of ['get', 'run', 'chat']) {
    const { code, stderr } = await runCli(
      [command, 'chasqui/huge-GGUF', ...(command === 'get' ? [] : ['Hi'])],
      variables,
    );
    assert.is(code, 2);
    assert.match(
      stderr,
      /^chasqui: chasqui\/huge-GGUF:Q4_K_M needs \S+ \wB of memory, .*get --force chasqui\/huge-GGUF:Q4_K_M /,
    );
  }
});

test('a local model that may not fit into memory: which context fits', async ({ folder, variables }) => {
  const file = writeHollowDecoder(path.join(folder, 'large.gguf'), { width: 1024, hidden: 2048, layers: 24 });
  const { code, stderr } = await runCli(['run', file, 'Hi', '--ctx-size', '8388608'], variables);
  assert.is(code, 1);
  assert.match(
    stderr,
    /^chasqui: \S+large\.gguf may not fit into memory\. With 1 × 8388608 tokens .* --ctx-size \d+ fits\.\n/,
  );
  assert.is(stderr.match(/fits/g)?.length, 1);
});

test('names that are no model, and options of the other kind, are refused', async ({ variables }) => {
  const refused: [args: string[], code: number, says: RegExp][] = [
    [['run', 'nosuch', 'Hi'], 5, /nosuch is no file, and no model on this computer; npx chasqui ls/],
    [['chat', 'none.gguf', 'Hi'], 1, /none\.gguf/],
    [['run', 'demo', '--port', '9', 'Hi'], 2, /--port is for scripts, but demo is none/],
    [['run', 'app.ts::chat', '--top-k', '9'], 2, /--top-k is for models, but app\.ts::chat is none/],
    [['run', 'app.ts', 'Hi'], 2, /a script takes no prompt/],
  ];
  for (const [args, expected, says] of refused) {
    const { code, stdout, stderr } = await runCli(args, variables);
    assert.equal([code, stdout], [expected, ''], `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, says);
  }
  const missing: [args: string[], code: number, says: RegExp][] = [
    [['run', 'nosuch'], 5, /nosuch is no file, and no model on this computer/],
    [['run', 'none.gguf'], 1, /none\.gguf/],
  ];
  for (const [args, expected, says] of missing) {
    const { code, stdout, stderr } = await piped('', args, variables);
    assert.equal([code, stdout], [expected, ''], `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, says);
  }
  const empty = await piped('\n', ['run', 'demo'], variables);
  assert.equal([empty.code, empty.stderr], [2, 'chasqui: the prompt on standard input is empty\n']);
});

test('the model sees the image that a prompt names', async ({ folder, variables }) => {
  const file = path.join(folder, 'my square.png');
  fs.writeFileSync(file, await picture('png'));
  const { stdout } = await runCli(['run', 'demo', `What is in "${file}"?`, '--temp', '0', '--json'], variables);
  // The text of the path alone has fewer tokens than the image.
  assert.ok(JSON.parse(stdout).prompt_tokens > 60, stdout);
});

terminalTest('a chat has messages of several lines, settings and a history', async ({ folder, variables }) => {
  const chat = new Terminal(['chat', 'demo', '--temp', '0'], variables);
  assert.match(await chat.type('', PROMPT), 'chasqui-demo, 2048 tokens of context');
  assert.match(await chat.type('Hello\r', PROMPT), GREETING);
  await chat.type('"""Hello\r', new RegExp(`\\.\\.\\. ${ESC}\\[5G$`));
  await chat.type('there"""\r', PROMPT);
  await chat.type('\u001b[200~two\rlines\u001b[201~\r', PROMPT);
  assert.match(await chat.type('/set temperature hot\r', PROMPT), 'temperature must be a number from 0');
  await chat.type('/set max_tokens 3\r', PROMPT);
  await chat.type('/set system Be short.\r', PROMPT);
  assert.match(await chat.type('/set\r', PROMPT), /system Be short\.[\s\S]*temperature 0\b[\s\S]*max_tokens 3\b/);
  assert.not.match(await chat.type('Hello\r', PROMPT), GREETING);
  const file = path.join(folder, 'saved.json');
  assert.match(await chat.type(`/save ${file}\r`, PROMPT), 'Saved 9 messages');
  assert.match(await chat.type(`/save ${file}\r`, PROMPT), 'exists. Choose another name.');
  const { messages } = JSON.parse(fs.readFileSync(file, 'utf8'));
  assert.equal(
    messages
      .filter(({ role }: { role: string }) => role !== 'assistant')
      .map(({ content }: { content: string }) => content),
    ['Be short.', 'Hello', 'Hello\nthere', 'two\nlines', 'Hello'],
  );
  await chat.type('/clear\r', PROMPT);
  assert.match(await chat.type('/nosuch\r', PROMPT), 'Unknown command /nosuch');
  await chat.type('/bye\r', /2004l/);
  assert.is((await chat.child.exited).code, 0);
  const history = path.join(variables.CHASQUI_HOME as string, 'chat-history');
  assert.is(fs.statSync(history).mode & 0o777, 0o600);

  const next = new Terminal(['chat'], variables, 40);
  await next.type('', PROMPT);
  assert.match(await next.type('\u001b[A\u001b[A', /nosuch/), '/bye');
  // The first Ctrl-C drops the line, the next one ends the chat.
  await next.type('\u0003', PROMPT);
  await next.type('\u0003', /2004l/);
  assert.is((await next.child.exited).code, 0);
});

terminalTest('reasoning is dimmed, and Ctrl-C stops it', async ({ folder, variables }) => {
  const model = writeScriptedModel(path.join(folder, 'thinker.gguf'), { calls: [], say: 'Done.', reasons: true });
  const chat = new Terminal(['chat', model], variables);
  await chat.type('', PROMPT);
  await chat.type('Hello\r', new RegExp(`${ESC}\\[2m(${REASONING}){20}`));
  assert.match(await chat.type('\u0003', PROMPT), '\u001b[22m');
  await chat.type('\u0003', /2004l/);

  const brief = { ...variables, CHASQUI_REASONING_BUDGET: '4' };
  const shown = new Terminal(['run', model], brief);
  await shown.type('', PROMPT);
  assert.match(await shown.type('Hello\r', PROMPT), new RegExp(`${ESC}\\[2mhm, .*${ESC}\\[22m\r\n\r\nDone\\.`));
  await shown.type('/bye\r', /2004l/);
  const plain = await runCli(['run', model, 'Hello'], brief);
  assert.is(plain.stdout, 'Done.\n');
  const uncoloured = new Terminal(['run', model], { ...brief, NO_COLOR: '1' });
  await uncoloured.type('', PROMPT);
  assert.match(await uncoloured.type('Hello\r', PROMPT), /Thinking:\r\nhm, [hm, ]*\r\n\r\nDone\./);
  await uncoloured.type('/bye\r', /2004l/);
});

test.run();
