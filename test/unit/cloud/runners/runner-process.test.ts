// What becomes of runners whose process cannot be started at all.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RunnerProcess } from '../../../../ts/cloud/runners/runner-process.js';

test('a log that cannot be opened is the end of its runner, and of nothing else', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-run-'));
  const noFolder = path.join(folder, 'file');
  fs.writeFileSync(noFolder, '');
  const config = { id: 'r1', bootId: RunnerProcess.newBootId(), endsWithParent: false };
  const command = { command: [process.execPath], environment: {}, secrets: {} };
  const how = await new Promise<string>((onEnd) => {
    const listener = { onStatus: () => undefined, onEnd };
    RunnerProcess.start(folder, config as never, command as never, path.join(noFolder, 'r1.log'), listener);
  });
  assert.match(how, /^it could not be started: E(EXIST|NOTDIR)/);
  fs.rmSync(folder, { recursive: true });
});

test.run();
