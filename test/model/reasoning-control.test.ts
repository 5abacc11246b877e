// Jobs that are changed while they run. The reader is slower than the model, so a job waits for it.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob } from '../../ts/engine/job.js';
import { loadModel } from '../../ts/index.js';
import { REASONING, writeScriptedModel } from '../support/scripted-model.js';

const test = suite<{ folder: string }>('model: control of jobs');

test.before((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-control-'));
});
test.after(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

for (const own of [false, true]) {
  test(`reasoning and jobs end on demand, ${own ? 'in a child process' : 'in this process'}`, async ({ folder }) => {
    const file = writeScriptedModel(path.join(folder, 'm.gguf'), { calls: [], say: 'Done.', reasons: true });
    const options = { contextSize: 8192, parallel: 1, threads: 1 };
    const engine = await (own ? loadModel(file, { ...options, process: true }) : loadModel(file, options));
    const { prompt, reasoning } = await engine.render([{ role: 'user', content: 'Well?' }]);
    for (const [action, end] of [
      ['endReasoning', '</think>Done.'],
      ['finish', REASONING],
    ] as const) {
      const stream = engine.submit(completeJob({ prompt, reasoning, reasoningControl: true, temperature: 0 }));
      let text = '';
      let reason: string | undefined;
      for await (const token of stream) {
        if (text === '') stream.control?.(action);
        text += token.text;
        reason = token.finish?.reason ?? reason;
      }
      assert.is(reason, 'stop', `${action}: ${text.length} characters`);
      assert.ok(text.startsWith(REASONING) && text.endsWith(end), text.slice(-40));
    }
    await engine.close();
  });
}

test.run();
