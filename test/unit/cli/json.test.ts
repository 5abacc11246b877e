import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toJson } from '../../../ts/cli/output/json.js';

test('names are snake_case, and times are ISO', () => {
  const time = Date.UTC(2026, 1, 3);
  const given = { sizeBytes: 1, startedAt: time, expiresAt: time / 1000, finishedAt: null, models: [{ at: time }] };
  assert.equal(JSON.parse(toJson(given)), {
    size_bytes: 1,
    started_at: '2026-02-03T00:00:00.000Z',
    expires_at: '2026-02-03T00:00:00.000Z',
    finished_at: null,
    models: [{ at: '2026-02-03T00:00:00.000Z' }],
  });
});

test('names of models stay, and control characters are escaped', () => {
  const given = { 'user/tinyModel': 1, HF_TOKEN: 2, 'Llama-3.2': '\u009b' };
  assert.is(toJson(given), '{"user/tinyModel":1,"HF_TOKEN":2,"Llama-3.2":"\\u009b"}');
});

test.run();
