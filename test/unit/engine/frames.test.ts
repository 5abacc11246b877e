// Frames, cut anywhere on their way, come out as they went in.
import { deserialize, serialize } from 'node:v8';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  EventsDecoder,
  encodeEvents,
  encodeFrame,
  FRAME,
  FrameReader,
  MAX_FRAME_BYTES,
} from '../../../ts/engine/child/frames.js';
import type { OnCoreEvents, ParsedText } from '../../../ts/engine/core.js';

const test = suite('unit: frames between a server and its engine');

const VALUES: unknown[] = [
  [1, 'tokenize', 'text\0with a NUL, a lone surrogate \ud800, and 🌍', true],
  [2, 'submit', { logitBiasValues: Float32Array.of(-Infinity, Infinity, -0), seed: 2 ** 32 - 1 }],
  [3, 'embed', Int32Array.of(-1, 2 ** 31 - 1), { absent: undefined, none: null, stop: ['', '\u2028'] }],
  [4, 'tokenizePrompt', '', [{ bytes: new Uint8Array(70_000).fill(7) }]],
  [5],
];

type Frame = [kind: number, value: unknown];

function readAll(pieces: Iterable<Buffer>): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader((kind, payload) => frames.push([kind, deserialize(payload)]));
  for (const piece of pieces) reader.push(piece);
  return frames;
}

const sent = VALUES.map((value, at): Frame => [(at % 3) + 1, value]);
const bytes = Buffer.concat(VALUES.map((value, at) => encodeFrame(((at % 3) + 1) as 1, value)));

test('values come back as they were, special numbers and texts included', () => {
  assert.equal(readAll([bytes]), sent);
  const [[, [, , text]], [, [, , { logitBiasValues }]]] = readAll([bytes]) as [
    [number, [number, string, string]],
    [number, [number, string, { logitBiasValues: Float32Array }]],
  ];
  assert.is(text, (VALUES[0] as unknown[])[2]);
  assert.ok(Object.is(logitBiasValues[2], -0));
});

test('frames are the same wherever the pipe cuts them in two', () => {
  const small = Buffer.concat([encodeFrame(1, ['a']), encodeFrame(2, [1, 'b']), encodeFrame(3, null)]);
  const whole = readAll([small]);
  for (let at = 0; at <= small.length; at += 1) {
    assert.equal(readAll([small.subarray(0, at), small.subarray(at)]), whole, `cut at ${at}`);
  }
});

test('frames are the same in pieces of any size', () => {
  for (const size of [1, 2, 3, 4, 5, 6, 7, 64, 1000, 65_536]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    assert.equal(readAll(pieces), sent, `pieces of ${size}`);
  }
});

test('each frame is handed on as soon as it is whole', () => {
  let frames = 0;
  const reader = new FrameReader(() => {
    frames += 1;
  });
  const frame = encodeFrame(FRAME.call, ['x']);
  reader.push(Buffer.concat([frame, frame.subarray(0, -1)]));
  assert.is(frames, 1);
  reader.push(frame.subarray(-1));
  assert.is(frames, 2);
});

test('a frame of many pieces is joined once, not with each of them', () => {
  const payload = new Uint8Array(64 * 2 ** 20);
  const frame = encodeFrame(FRAME.call, payload);
  const { concat } = Buffer;
  let joined = 0;
  Buffer.concat = (list, length) => {
    const whole = concat(list, length);
    joined += whole.length;
    return whole;
  };
  let frames = 0;
  try {
    const reader = new FrameReader(() => {
      frames += 1;
    });
    const rest = Buffer.concat([frame, frame.subarray(0, 100)]);
    joined = 0;
    for (let at = 0; at < rest.length; at += 65_536) reader.push(rest.subarray(at, at + 65_536));
  } finally {
    Buffer.concat = concat;
  }
  assert.is(frames, 1);
  assert.ok(joined < 1.1 * frame.length, `${joined} bytes for ${frame.length}`);
});

test('lengths that cannot be are refused', () => {
  for (const length of [0, MAX_FRAME_BYTES + 1, 2 ** 32 - 1]) {
    const head = Buffer.alloc(5);
    head.writeUInt32LE(length);
    assert.throws(() => readAll([head]), /cannot be/);
  }
});

interface Event {
  records: number[];
  text: string;
  extras: readonly unknown[];
  parsed: [number, ParsedText][];
}

function eventOf(...[records, count, text, extras, parsed]: Parameters<OnCoreEvents>): Event {
  return { records: [...records.slice(0, count * 4)], text, extras, parsed: [...(parsed ?? [])] };
}

function sentAndGot(...event: Parameters<typeof encodeEvents>): [Event, Event] {
  let got: Event | undefined;
  const decoder = new EventsDecoder();
  // Bytes from a pipe may begin at any address.
  const frame = Buffer.concat([Buffer.alloc(3), encodeEvents(...event)]).subarray(3);
  const reader = new FrameReader((kind, payload) => {
    assert.is(kind, FRAME.events);
    decoder.decode(payload, (...each) => {
      got = eventOf(...each);
    });
  });
  for (const byte of frame) reader.push(Buffer.of(byte));
  return [eventOf(...event), got as Event];
}

test('events come back as they were: many, few, with and without extras', () => {
  const finish = { reason: 'stop', timings: { queuedMs: 0.5 } };
  const logprobs = { top: [], bytes: Uint8Array.of(240, 159) };
  const parsed = new Map<number, ParsedText>([[1, { deltas: [], reasoningTokens: 3 }]]);
  const records = Int32Array.of(1, 2, 3, 0, 2 ** 31 - 1, -1, 2, 7, 99, 99, 99, 99);
  for (const event of [
    [new Int32Array(0), 0, '', []],
    [records, 2, 'añ🌍\0', []],
    [records, 2, 'abcde', [logprobs, finish], parsed],
    [records.subarray(4), 1, 'ab', [finish], new Map()],
    [new Int32Array(4 * 1000).fill(5), 1000, 'x'.repeat(5000), []],
  ] as Parameters<typeof encodeEvents>[]) {
    const [sentEvent, got] = sentAndGot(...event);
    assert.equal(got, sentEvent);
  }
});

test('half of a character pair becomes a character of the same length, so that texts stay with their records', () => {
  const [, got] = sentAndGot(Int32Array.of(1, 2, 2, 0), 1, 'a\ud83c', []);
  assert.is(got.text, 'a\ufffd');
});

test('events that are shorter than they say are refused', () => {
  const frame = encodeEvents(Int32Array.of(1, 2, 3, 0), 1, 'abc', []);
  for (let length = 5; length < frame.length; length += 1) {
    assert.throws(
      () => new EventsDecoder().decode(frame.subarray(5, length), () => assert.unreachable()),
      `${length} bytes`,
    );
  }
});

test("frames above the receiver's limit are refused before sending", () => {
  const most = serialize(['12345']).length;
  assert.type(encodeFrame(FRAME.call, ['12345'], most), 'object');
  assert.throws(
    () => encodeFrame(FRAME.call, ['123456'], most),
    (error: { code: string }) => error.code === 'request_too_large',
  );
});

test.run();
