// Anthropic's Claude Code, as npm has it, with POST /v1/messages.
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installAgent, Sandbox } from '../support/agents.js';
import { AGENTS } from '../support/find-agents.mjs';

const test = suite('agents: Claude Code');

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
    const turns = sandbox.requests().filter(({ path }) => path.startsWith('/v1/messages'));
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

test.run();
