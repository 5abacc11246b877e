/** All rows of the table and their targets. */
import type { FewLayersName } from '../../test/support/few-layers-model.js';
import {
  atLeastOfLoop,
  atLeastOfMachine,
  atLeastOfServer,
  atMost,
  atMostOfServer,
  type Goal,
  noMoreMemoryThan,
} from './goals.js';
import type { Line, Scenario, ServedScenario } from './scenario.js';
import { grammarCost } from './scenarios/grammar.js';
import { longPromptArrives } from './scenarios/long-prompt.js';
import { manyClients } from './scenarios/many-clients.js';
import { mixedPrompts } from './scenarios/mixed-prompts.js';
import { onePrompt } from './scenarios/one-prompt.js';
import { picturesArrive, sameAgain } from './scenarios/pictures.js';
import { promptsThenDecoding } from './scenarios/prompts-then-decoding.js';
import { residentSize } from './scenarios/resident-size.js';
import { samplingCost } from './scenarios/sampling.js';
import { firstAnswer } from './scenarios/start.js';
import { sharedSystemPrompt } from './scenarios/system-prompt.js';

const shortPrompt = { promptTokens: 80, predictTokens: 128 };
const systemPromptTokens = 750;
const longPromptTokens = 1600;

export const scenarios: Scenario[] = [
  {
    id: 'one-stream',
    model: '0.5B',
    contextSize: 256,
    parallel: 1,
    rounds: 9,
    warmUp: 12,
    work: { ...shortPrompt, streams: 1 },
    subjects: ['machine', 'loop', 'llama-server', 'in-process', 'chasqui'],
    lines: [
      rate('0.5B, one stream, decoding, in-process', 'decodeRate', 'in-process', atLeastOfLoop(0.97)),
      rate('0.5B, one stream, decoding, over HTTP', 'decodeRate', 'chasqui', atLeastOfLoop(0.97)),
      rate('the same, beside what memory can be read', 'decodeRate', 'chasqui', atLeastOfMachine(0.88)),
    ],
  },
  {
    id: '6-streams',
    model: '0.5B',
    contextSize: 256,
    parallel: 6,
    rounds: 5,
    warmUp: 12,
    work: { ...shortPrompt, streams: 6 },
    subjects: ['loop', 'llama-server', 'chasqui'],
    lines: [rate('0.5B, 6 streams, prompts included', 'totalRate', 'chasqui', atLeastOfLoop(0.97))],
  },
  {
    id: '8-streams',
    model: '0.5B',
    contextSize: 256,
    parallel: 8,
    rounds: 7,
    warmUp: 12,
    work: { ...shortPrompt, streams: 8 },
    subjects: ['loop', 'llama-server', 'chasqui'],
    lines: [rate('0.5B, 8 streams, prompts included', 'totalRate', 'chasqui', atLeastOfLoop(0.97))],
  },
  {
    id: 'tiny-one-stream',
    model: 'tiny',
    contextSize: 256,
    parallel: 1,
    rounds: 31,
    work: { ...shortPrompt, streams: 1 },
    subjects: ['loop', 'llama-server', 'in-process', 'chasqui'],
    lines: [
      rate('tiny, one stream, decoding, in-process', 'decodeRate', 'in-process', atLeastOfLoop(0.92)),
      rate('tiny, one stream, decoding, over HTTP', 'decodeRate', 'chasqui', atLeastOfLoop(0.75)),
    ],
  },
  {
    id: 'tiny-64-streams',
    model: 'tiny',
    contextSize: 256,
    parallel: 64,
    warmUp: 3,
    work: { ...shortPrompt, streams: 64 },
    subjects: ['loop', 'llama-server', 'in-process', 'chasqui'],
    lines: [
      rate('tiny, 64 streams, prompts included, in-process', 'totalRate', 'in-process', atLeastOfLoop(0.92)),
      rate('tiny, 64 streams, prompts included, over HTTP', 'totalRate', 'chasqui', atLeastOfLoop(0.8)),
      {
        name: 'the same: CPU time of JavaScript for a token',
        figure: 'scriptCost',
        unit: 'µs',
        ours: 'chasqui',
        goal: atMost(15, 'µs'),
      },
    ],
  },
  {
    id: 'system-prompt',
    model: '0.5B',
    contextSize: 1024,
    parallel: 8,
    run: sharedSystemPrompt({ users: 8, systemTokens: systemPromptTokens }),
    lines: [
      seconds('8 at once, system prompt of 750 tokens new to the server: median first token', 'cold', atMost(5)),
      seconds('the same, system prompt used by one request before', 'warm', atMost(1.5)),
      seconds('the same, system prompt used by 8 at once before', 'hot'),
    ],
  },
  {
    id: 'long-prompt',
    model: '0.5B',
    contextSize: 2048,
    parallel: 4,
    run: longPromptArrives({ streams: 2, promptTokens: longPromptTokens }),
    lines: [
      seconds('longest gap in 2 running streams while a prompt of 1,600 tokens arrives', 'gap', atMost(0.4)),
      seconds("the newcomer's first token", 'firstToken', atMostOfServer(1.3)),
    ],
  },
  {
    id: 'draft-model',
    model: 'foreseeable-0.5B',
    draft: 'draft',
    contextSize: 256,
    parallel: 1,
    work: { ...shortPrompt, streams: 1 },
    subjects: ['loop', 'llama-server', 'chasqui'],
    lines: [
      rate(
        '0.5B, one stream, decoding with a draft model that guesses right; the loop without',
        'decodeRate',
        'chasqui',
      ),
    ],
  },
  {
    id: 'grammar',
    model: '0.5B',
    contextSize: 1024,
    parallel: 1,
    run: grammarCost({ streams: 1 }),
    lines: grammarLines('0.5B, one stream', atLeastOfServer(1)),
  },
  {
    id: 'grammar-8',
    model: '0.5B',
    contextSize: 1024,
    parallel: 8,
    run: grammarCost({ streams: 8 }),
    // With random weights, llama-server checks all tokens against the grammar in nearly every step, one stream at a time.
    subjects: ['chasqui'],
    lines: grammarLines('0.5B, 8 streams'),
  },
  {
    id: 'sampling-8',
    model: '0.5B',
    contextSize: 256,
    parallel: 8,
    rounds: 7,
    warmUp: 6,
    run: samplingCost({ streams: 8 }),
    subjects: ['chasqui'],
    lines: [
      rate('0.5B, 8 streams, decoding at temperature 0', 'greedy', 'chasqui'),
      rate('the same at temperature 1', 'sampled', 'chasqui'),
      { name: 'what that takes, as a share', figure: 'cost', unit: '', ours: 'chasqui', goal: atMost(0.03, '') },
    ],
  },
  {
    id: 'pictures',
    model: '0.5B',
    contextSize: 2048,
    parallel: 14,
    hasEyes: true,
    run: picturesArrive({ streams: 4, pictures: 10, predictTokens: 1900 }),
    lines: [
      seconds('ten pictures arrive while 4 streams run: their longest gap', 'gap'),
      seconds('the same, less twice their median gap', 'excess', atMost(0.1)),
      seconds("the last picture's first token", 'firstToken', atMostOfServer(1.1)),
    ],
  },
  {
    id: 'same-picture',
    model: '0.5B',
    contextSize: 2048,
    parallel: 4,
    hasEyes: true,
    run: sameAgain,
    lines: [
      seconds('a picture with text before it: first token', 'first'),
      seconds('asked about again: first token', 'second'),
      {
        name: 'the same, as a share of the first',
        figure: 'share',
        unit: '',
        ours: 'chasqui',
        goal: atMost(0.05, ''),
      },
    ],
  },
  {
    id: 'first-token',
    model: '0.5B',
    contextSize: 256,
    parallel: 1,
    rounds: 9,
    run: onePrompt({ promptTokens: 80, predictTokens: 8 }),
    lines: [seconds('0.5B, one prompt of 80 tokens: first token', 'firstToken', atMostOfServer(0.4))],
  },
  {
    id: 'prompt-500',
    model: '0.5B',
    contextSize: 1024,
    parallel: 1,
    rounds: 5,
    run: onePrompt({ promptTokens: 500, predictTokens: 8 }),
    subjects: ['machine', 'llama-server', 'chasqui'],
    lines: [rate('0.5B, one prompt of 500 tokens', 'promptRate', 'chasqui', atLeastOfMachine(0.5))],
  },
  {
    id: 'mixed-prompts',
    model: '0.5B',
    contextSize: 512,
    parallel: 8,
    run: mixedPrompts([60, 120, 180, 240, 300, 360, 420, 480]),
    lines: [
      seconds('0.5B, eight prompts of 60 to 480 tokens at once: first token of the last', 'mixed'),
      seconds('eight of 270 tokens at once: the same', 'equal'),
      {
        name: 'the former ÷ the latter',
        figure: 'mixedToEqual',
        unit: '',
        ours: 'chasqui',
        goal: atMost(1.05, ''),
      },
    ],
  },
  {
    id: 'behind-7500',
    model: '0.5B',
    contextSize: 8192,
    parallel: 1,
    rounds: 1,
    warmUp: 0,
    run: onePrompt({ promptTokens: 7500, predictTokens: 64 }),
    lines: [
      seconds('0.5B, one prompt of 7,500 tokens: first token', 'firstToken'),
      rate('the same: decoding behind it', 'decodeRate', 'chasqui', atLeastOfServer(1.2)),
    ],
  },
  {
    id: 'behind-15000',
    model: '0.5B',
    contextSize: 16_384,
    parallel: 1,
    rounds: 1,
    warmUp: 0,
    run: onePrompt({ promptTokens: 15_000, predictTokens: 64 }),
    lines: [
      seconds('0.5B, one prompt of 15,000 tokens: first token', 'firstToken'),
      rate('the same: decoding behind it', 'decodeRate', 'chasqui', atLeastOfServer(1.2)),
    ],
  },
  {
    id: '200-clients',
    model: 'tiny',
    contextSize: 1024,
    parallel: 8,
    run: manyClients({ clients: 200, systems: 4 }),
    lines: [
      {
        name: 'tiny, 200 clients at once on 8 slots, four system prompts of 300 tokens: requests a second',
        figure: 'requestRate',
        unit: '',
        ours: 'chasqui',
        goal: atLeastOfServer(3),
      },
      seconds('the same: 99 of 100 first tokens are not later', 'slowFirstToken', atMostOfServer(0.4)),
    ],
  },
  {
    id: '1000-clients',
    model: 'tiny',
    contextSize: 1024,
    parallel: 8,
    rounds: 1,
    warmUp: 0,
    // By default chasqui refuses requests when 256 are waiting; llama-server has no limit.
    ourFlags: ['--max-queue', '1000'],
    run: manyClients({ clients: 1000, systems: 4 }),
    lines: [
      {
        name: 'tiny, 1,000 clients at once on 8 slots: requests a second',
        figure: 'requestRate',
        unit: '',
        ours: 'chasqui',
        goal: atLeastOfServer(3),
      },
      seconds('the same: 99 of 100 first tokens are not later', 'slowFirstToken', atMostOfServer(0.4)),
    ],
  },
  {
    id: 'start',
    model: '0.5B',
    contextSize: 20_000,
    parallel: 1,
    rounds: 7,
    startsEachRound: true,
    run: firstAnswer,
    lines: [
      seconds('0.5B, context of 20,000 tokens: from the start of the process until it is ready', 'ready'),
      seconds('the same, to the end of a first answer of 64 tokens', 'answered', atMostOfServer(0.7)),
    ],
  },
  {
    id: 'resident-size',
    model: '0.5B',
    contextSize: 2048,
    parallel: 8,
    rounds: 1,
    // The prompt cache in main memory is optional, so it does not count as memory for serving.
    peerFlags: ['--cache-ram', '0'],
    run: residentSize,
    lines: [
      {
        name: '0.5B, 8 × 2,048 tokens of context: resident size after 8 answers',
        figure: 'resident',
        unit: 'MB',
        ours: 'chasqui',
        goal: noMoreMemoryThan(1.1, 80),
      },
    ],
  },
  ...[1, 8].flatMap((streams) => [
    fewLayers('qwen3-moe', 'Qwen3-30B-A3B', streams),
    fewLayers('gpt-oss', 'gpt-oss-20b', streams),
    fewLayers('llama-8b', 'Llama-3-8B', streams),
  ]),
];

/** Rows of a large model with few layers, for one stream or several. */
function fewLayers(id: string, model: FewLayersName, streams: number): ServedScenario {
  const atOnce = streams === 1 ? 'one prompt' : `${streams} prompts at once`;
  return {
    id: streams === 1 ? id : `${id}-${streams}`,
    model,
    contextSize: 512,
    parallel: streams,
    run: promptsThenDecoding({ streams, promptTokens: 256, predictTokens: 32 }),
    lines: [
      rate(`${model}, few layers, ${atOnce} of 256 tokens`, 'promptRate', 'chasqui', atLeastOfServer(1.3)),
      rate('the same: decoding 32 tokens', 'decodeRate', 'chasqui', atLeastOfServer(streams === 1 ? 1.3 : 1.5)),
    ],
  };
}

function rate(name: string, figure: string, ours: Line['ours'], goal?: Goal): Line {
  return { name, figure, unit: 'tokens/s', ours, ...(goal && { goal }) };
}

function seconds(name: string, figure: string, goal?: Goal): Line {
  return { name, figure, unit: 's', ours: 'chasqui', ...(goal && { goal }) };
}

function grammarLines(name: string, goal?: Goal): Line[] {
  return [
    {
      name: `${name}, decoding at temperature 1`,
      figure: 'free',
      unit: 'tokens/s',
      ours: 'chasqui',
      ...(goal && { goal }),
    },
    { name: 'the same within a JSON schema', figure: 'bound', unit: 'tokens/s', ours: 'chasqui' },
    { name: 'what the schema takes, as a share', figure: 'cost', unit: '', ours: 'chasqui', goal: atMost(0.15, '') },
  ];
}
