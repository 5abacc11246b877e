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
      rate('One stream, in-process', 'decodeRate', 'in-process', atLeastOfLoop(0.97)),
      rate('One stream, over HTTP', 'decodeRate', 'chasqui', atLeastOfLoop(0.97)),
      rate('One stream, over HTTP, compared with the machine limit', 'decodeRate', 'chasqui', atLeastOfMachine(0.88)),
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
    lines: [rate('6 streams, prompts included', 'totalRate', 'chasqui', atLeastOfLoop(0.97))],
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
    lines: [rate('8 streams, prompts included', 'totalRate', 'chasqui', atLeastOfLoop(0.97))],
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
      rate('Tiny model, one stream, in-process', 'decodeRate', 'in-process', atLeastOfLoop(0.92)),
      rate('Tiny model, one stream, over HTTP', 'decodeRate', 'chasqui', atLeastOfLoop(0.75)),
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
      rate('Tiny model, 64 streams, in-process', 'totalRate', 'in-process', atLeastOfLoop(0.92)),
      rate('Tiny model, 64 streams, over HTTP', 'totalRate', 'chasqui', atLeastOfLoop(0.8)),
      {
        name: 'Tiny model, 64 streams: JavaScript CPU time per token',
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
      seconds('8 clients, cold system prompt of 750 tokens: median time to first token', 'cold', atMost(5)),
      seconds('8 clients, system prompt cached by one request: median time to first token', 'warm', atMost(1.5)),
      seconds('8 clients, system prompt cached by eight requests: median time to first token', 'hot'),
    ],
  },
  {
    id: 'long-prompt',
    model: '0.5B',
    contextSize: 2048,
    parallel: 4,
    run: longPromptArrives({ streams: 2, promptTokens: longPromptTokens }),
    lines: [
      seconds('Longest gap in two streams while a prompt of 1,600 tokens arrives', 'gap', atMost(0.4)),
      seconds('Time to first token of that prompt', 'firstToken', atMostOfServer(1.3)),
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
    lines: [rate('One stream with an ideal draft model (loop: without drafts)', 'decodeRate', 'chasqui')],
  },
  {
    id: 'grammar',
    model: '0.5B',
    contextSize: 1024,
    parallel: 1,
    run: grammarCost({ streams: 1 }),
    lines: grammarLines('One stream', atLeastOfServer(1)),
  },
  {
    id: 'grammar-8',
    model: '0.5B',
    contextSize: 1024,
    parallel: 8,
    run: grammarCost({ streams: 8 }),
    // With random weights, llama-server checks all tokens against the grammar in nearly every step, one stream at a time.
    subjects: ['chasqui'],
    lines: grammarLines('8 streams'),
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
      rate('8 streams, greedy', 'greedy', 'chasqui'),
      rate('8 streams, temperature 1', 'sampled', 'chasqui'),
      { name: 'Slowdown by sampling, 8 streams', figure: 'cost', unit: '', ours: 'chasqui', goal: atMost(0.03, '') },
    ],
  },
  {
    id: 'pictures',
    model: '0.5B',
    contextSize: 2048,
    parallel: 14,
    hasVision: true,
    run: picturesArrive({ streams: 4, pictures: 10, predictTokens: 1900 }),
    lines: [
      seconds('Longest gap in four streams while ten images arrive', 'gap'),
      seconds('The same, minus two median gaps', 'excess', atMost(0.1)),
      seconds('Time to first token of the last image', 'firstToken', atMostOfServer(1.1)),
    ],
  },
  {
    id: 'same-picture',
    model: '0.5B',
    contextSize: 2048,
    parallel: 4,
    hasVision: true,
    run: sameAgain,
    lines: [
      seconds('One image after text: time to first token', 'first'),
      seconds('The same image again: time to first token', 'second'),
      {
        name: 'The same image again ÷ the first time',
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
    lines: [seconds('One prompt of 80 tokens: time to first token', 'firstToken', atMostOfServer(0.4))],
  },
  {
    id: 'prompt-500',
    model: '0.5B',
    contextSize: 1024,
    parallel: 1,
    rounds: 5,
    run: onePrompt({ promptTokens: 500, predictTokens: 8 }),
    subjects: ['machine', 'llama-server', 'chasqui'],
    lines: [rate('One prompt of 500 tokens', 'promptRate', 'chasqui', atLeastOfMachine(0.5))],
  },
  {
    id: 'mixed-prompts',
    model: '0.5B',
    contextSize: 512,
    parallel: 8,
    run: mixedPrompts([60, 120, 180, 240, 300, 360, 420, 480]),
    lines: [
      seconds('8 prompts of 60 to 480 tokens: time to the last first token', 'mixed'),
      seconds('8 prompts of 270 tokens: time to the last first token', 'equal'),
      {
        name: 'Different lengths ÷ equal lengths',
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
      seconds('One prompt of 7,500 tokens: time to first token', 'firstToken'),
      rate('Decoding after that prompt', 'decodeRate', 'chasqui', atLeastOfServer(1.2)),
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
      seconds('One prompt of 15,000 tokens: time to first token', 'firstToken'),
      rate('Decoding after that prompt', 'decodeRate', 'chasqui', atLeastOfServer(1.2)),
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
        name: 'Tiny model, 200 clients, 8 slots, four system prompts of 300 tokens',
        figure: 'requestRate',
        unit: 'requests/s',
        ours: 'chasqui',
        goal: atLeastOfServer(3),
      },
      seconds('The same: 99th percentile of the time to first token', 'slowFirstToken', atMostOfServer(0.4)),
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
        name: 'Tiny model, 1,000 clients, 8 slots',
        figure: 'requestRate',
        unit: 'requests/s',
        ours: 'chasqui',
        goal: atLeastOfServer(3),
      },
      seconds('The same: 99th percentile of the time to first token', 'slowFirstToken', atMostOfServer(0.4)),
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
      seconds('Context of 20,000 tokens: process start until ready', 'ready'),
      seconds('Context of 20,000 tokens: process start until the end of 64 tokens', 'answered', atMostOfServer(0.7)),
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
        name: '8 × 2,048 tokens of context: resident memory after 8 answers',
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
  const prompts = streams === 1 ? 'one prompt' : `${streams} prompts`;
  return {
    id: streams === 1 ? id : `${id}-${streams}`,
    model,
    contextSize: 512,
    parallel: streams,
    run: promptsThenDecoding({ streams, promptTokens: 256, predictTokens: 32 }),
    lines: [
      rate(`${model}, few layers, ${prompts} of 256 tokens`, 'promptRate', 'chasqui', atLeastOfServer(1.3)),
      rate(
        `${model}, few layers, ${streams === 1 ? 'one stream' : `${streams} streams`}`,
        'decodeRate',
        'chasqui',
        atLeastOfServer(streams === 1 ? 1.3 : 1.5),
      ),
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
      name: `${name}, temperature 1`,
      figure: 'free',
      unit: 'tokens/s',
      ours: 'chasqui',
      ...(goal && { goal }),
    },
    { name: `${name}, temperature 1, JSON schema`, figure: 'bound', unit: 'tokens/s', ours: 'chasqui' },
    {
      name: `Slowdown by the schema, ${name.toLowerCase()}`,
      figure: 'cost',
      unit: '',
      ours: 'chasqui',
      goal: atMost(0.15, ''),
    },
  ];
}
