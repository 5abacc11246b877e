// opencode, as npm has it, with chat completions and with POST /v1/responses.
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installAgent, Sandbox } from '../support/agents.js';
import { AGENTS } from '../support/find-agents.mjs';

const test = suite('agents: opencode');

const config = (baseURL: string) => ({
  $schema: 'https://opencode.ai/config.json',
  autoupdate: false,
  share: 'disabled',
  model: 'chasqui/scripted',
  small_model: 'chasqui/scripted',
  provider: {
    chasqui: {
      npm: '@ai-sdk/openai',
      name: 'chasqui',
      options: { baseURL, apiKey: 'not-needed' },
      models: { scripted: { name: 'scripted', limit: { context: 65_536, output: 4096 } } },
    },
  },
});

const RUN = ['run', 'Write a note.'];
const byLaunch = (sandbox: Sandbox, bin: string) => sandbox.launch('opencode', bin, RUN);
const byConfig = (sandbox: Sandbox, bin: string) => {
  sandbox.configure('.config/opencode/opencode.json', JSON.stringify(config(`${sandbox.baseUrl}/v1`)));
  return sandbox.run([path.join(bin, 'opencode'), ...RUN]);
};

for (const [how, start, endpoint] of [
  ['as chasqui launch starts it', byLaunch, '/v1/chat/completions'],
  ['configured for responses', byConfig, '/v1/responses'],
] as const) {
  test(`writes a file by its tool and goes on with the result, ${how}`, async () => {
    const bin = await installAgent(AGENTS.opencode);
    const sandbox = await Sandbox.start('scripted', (work) => ({
      calls: [
        { tool: 'write', arguments: { content: 'from the tool\n', filePath: path.join(work, 'note.txt') } },
        { tool: 'bash', arguments: { command: "printf 'from the tool\\n' > note.txt", description: 'Writes it' } },
      ],
      say: 'The note is written.',
    }));
    try {
      const ran = await start(sandbox, bin);
      const seen = `${ran.output}\n${JSON.stringify(sandbox.requests())}`;
      assert.is(ran.code, 0, seen);
      assert.is(sandbox.read('note.txt'), 'from the tool\n', seen);
      assert.match(ran.output, /The note is written\./);
      const turns = sandbox.requests().filter(({ path }) => path === endpoint);
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
}

test.run();
