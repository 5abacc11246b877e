// OpenAI's Codex CLI, as npm has it, with POST /v1/responses.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installAgent, Sandbox } from '../support/agents.js';
import { AGENTS } from '../support/find-agents.mjs';

const test = suite('agents: Codex CLI');

const UNATTENDED = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];

const statusesOf = (sandbox: Sandbox): number[] =>
  sandbox.requests().flatMap(({ path, status }) => (path === '/v1/responses' ? [status] : []));

test('calls its shell, sends back what came of it, and has written the file', async () => {
  const bin = await installAgent(AGENTS.codex);
  const write = "printf 'from the tool\\n' > note.txt";
  const sandbox = await Sandbox.start('scripted', () => ({
    calls: [
      { tool: 'exec_command', arguments: { cmd: write } },
      { tool: 'shell_command', arguments: { command: write } },
      { tool: 'shell', arguments: { command: ['sh', '-c', write] } },
    ],
    say: 'The note is written.',
  }));
  try {
    const ran = await sandbox.launch('codex', bin, ['exec', ...UNATTENDED, 'Write a note.']);
    const seen = `${ran.output}\n${JSON.stringify(sandbox.requests())}`;
    assert.is(ran.code, 0, seen);
    assert.is(sandbox.read('note.txt'), 'from the tool\n', seen);
    assert.match(ran.output, /The note is written\./);
    const turns = sandbox.requests().filter(({ path }) => path === '/v1/responses');
    assert.ok(turns.length >= 2, seen);
    assert.equal(
      turns.filter(({ status }) => status !== 200),
      [],
      seen,
    );
  } finally {
    await sandbox.stop();
  }
});

/** Codex offers this custom tool with free-text input to models that it knows. */
test('patches a file by its custom tool, and ends', async () => {
  const bin = await installAgent(AGENTS.codex);
  const input = '*** Begin Patch\n*** Update File: note.txt\n@@\n-before\n+from the tool\n*** End Patch\n';
  const sandbox = await Sandbox.start('gpt-5.5', () => ({
    calls: [{ tool: 'apply_patch', arguments: { input } }],
    say: 'The note is patched.',
  }));
  try {
    sandbox.write('note.txt', 'before\n');
    const ran = await sandbox.launch('codex', bin, ['exec', ...UNATTENDED, 'Patch the note.']);
    const seen = `${ran.output}\n${JSON.stringify(sandbox.requests())}`;
    assert.is(ran.code, 0, seen);
    assert.is(sandbox.read('note.txt'), 'from the tool\n', seen);
    assert.match(ran.output, /The note is patched\./);
    assert.equal(statusesOf(sandbox), [200, 200], seen);
  } finally {
    await sandbox.stop();
  }
});

test('makes a conversation shorter that has overflowed, and goes on with it', async () => {
  const bin = await installAgent(AGENTS.codex);
  const write = "seq 1 20000; printf 'from the tool\\n' > note.txt";
  const script = () => ({
    calls: [
      { tool: 'exec_command', arguments: { cmd: write } },
      { tool: 'shell_command', arguments: { command: write } },
      { tool: 'shell', arguments: { command: ['sh', '-c', write] } },
    ],
    say: 'The note is written.',
  });
  // The first prompt has about 9,000 tokens, and the output of the tool exceeds the rest of the context.
  const sandbox = await Sandbox.start('scripted', script, ['--ctx-size', '16384']);
  try {
    const first = await sandbox.launch('codex', bin, ['exec', ...UNATTENDED, 'Write a note.']);
    assert.match(first.output, /ran out of room in the model's context window/);
    assert.is(sandbox.read('note.txt'), 'from the tool\n', first.output);
    const { code, output } = await sandbox.launch('codex', bin, ['exec', ...UNATTENDED, 'resume', '--last', 'Go on.']);
    const seen = `${output}\n${JSON.stringify(sandbox.requests())}`;
    assert.is(code, 0, seen);
    assert.match(output, /context compacted[\s\S]*The note is written\./, seen);
    // The call, what overflows, the summary, and the conversation with it.
    assert.equal(statusesOf(sandbox), [200, 400, 200, 200], seen);
    assert.is(sandbox.requests().find(({ status }) => status === 400)?.error, 'context_length_exceeded');
  } finally {
    await sandbox.stop();
  }
});

test.run();
