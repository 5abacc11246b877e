// OpenAI's Codex CLI, as npm has it, with POST /v1/responses.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installAgent, Sandbox } from '../support/agents.js';
import { AGENTS } from '../support/find-agents.mjs';

const test = suite('agents: Codex CLI');

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
    const options = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    const ran = await sandbox.launch('codex', bin, ['exec', ...options, 'Write a note.']);
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

test.run();
