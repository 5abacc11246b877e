// Anthropic's Claude Code, as npm has it, with POST /v1/messages.
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installAgent, type LoggedRequest, Sandbox } from '../support/agents.js';
import { AGENTS } from '../support/find-agents.mjs';

const test = suite('agents: Claude Code');

const messagesOf = (sandbox: Sandbox): LoggedRequest[] =>
  sandbox.requests().filter(({ path }) => path.startsWith('/v1/messages'));

test('writes a file by its tool, sends back what came of it, and ends', async () => {
  const bin = await installAgent(AGENTS.claudeCode);
  const sandbox = await Sandbox.start('scripted', (work) => ({
    calls: [{ tool: 'Write', arguments: { file_path: path.join(work, 'note.txt'), content: 'from the tool\n' } }],
    say: 'The note is written.',
  }));
  try {
    const ran = await sandbox.launch('claude', bin, ['-p', 'Write a note.', '--permission-mode', 'acceptEdits']);
    const seen = `${ran.output}\n${JSON.stringify(sandbox.requests())}`;
    assert.is(ran.code, 0, seen);
    assert.is(sandbox.read('note.txt'), 'from the tool\n', seen);
    assert.match(ran.output, /The note is written\./);
    const turns = messagesOf(sandbox);
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

/**
 * Its summary is asked for with all that was said, and a prompt of some 1,000 tokens less than the turn's. So the context
 * lies between the two, by the length of the turn as it is where there is room.
 */
test('makes a conversation shorter that overflows, and goes on with it', async () => {
  const bin = await installAgent(AGENTS.claudeCode);
  const command = "seq 1 450; printf 'from the tool\\n' > note.txt";
  const script = () => ({
    calls: [{ tool: 'Bash', arguments: { command, description: 'Writes it' } }],
    say: 'The note is written.',
  });
  const statuses = (sandbox: Sandbox): number[] => messagesOf(sandbox).map(({ status }) => status);
  const run = async (args: readonly string[], check: (sandbox: Sandbox, seen: string) => void): Promise<void> => {
    const sandbox = await Sandbox.start('scripted', script, args);
    try {
      const { code, output } = await sandbox.launch('claude', bin, ['-p', 'Write a note.', '--allowedTools=Bash']);
      const seen = `${output}\n${JSON.stringify(sandbox.requests())}`;
      assert.is(code, 0, seen);
      assert.match(output, /The note is written\./, seen);
      assert.is(sandbox.read('note.txt'), 'from the tool\n', seen);
      check(sandbox, seen);
    } finally {
      await sandbox.stop();
    }
  };

  let turn = 0;
  await run([], (sandbox, seen) => {
    assert.equal(statuses(sandbox), [200, 200], seen);
    turn = messagesOf(sandbox).at(-1)?.prompt_tokens as number;
  });
  const context = Math.floor((turn - 384) / 256) * 256;
  await run(['--ctx-size', String(context)], (sandbox, seen) => {
    const [call, overflow, ...rest] = statuses(sandbox);
    assert.equal([call, overflow], [200, 400], seen);
    assert.is(messagesOf(sandbox)[1]?.error, 'context_length_exceeded', seen);
    assert.ok(rest.length >= 2 && rest.every((status) => status === 200), seen);
  });
});

test.run();
