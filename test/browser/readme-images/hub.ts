/** A hub with a few models. Each is the demo model with padding that makes it a different file. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { demoModelPath } from '../../support/demo-model.js';
import { type FakeHub, fakeHub, type RepoContent } from '../../support/fake-hub.js';

export const REPO = 'ana/Little-1B-Instruct-GGUF';

const README = `# Little 1B Instruct

A small model for conversations, in GGUF files.

- understands images
- calls tools

\`\`\`sh
chasqui get ana/Little-1B-Instruct-GGUF
\`\`\`
`;

export function newcomersHub(): Promise<FakeHub> {
  const demo = readFileSync(demoModelPath);
  const projector = readFileSync(path.join(path.dirname(demoModelPath), 'mmproj-chasqui-demo.gguf'));
  const files = (name: string, labels: readonly string[]) =>
    Object.fromEntries(
      labels.map((label, index) => [`${name}-${label}.gguf`, Buffer.concat([demo, Buffer.alloc(100_000 * index)])]),
    );
  const repo = (total: number, content: Partial<RepoContent> & Pick<RepoContent, 'files'>): RepoContent => ({
    gguf: { total, architecture: 'llama', context_length: 2048, chat_template: '{{ tools }}{{ messages }}' },
    pipelineTag: 'text-generation',
    licence: 'apache-2.0',
    ...content,
  });
  const little = files('Little-1B-Instruct', ['Q2_K', 'Q4_K_M', 'Q6_K', 'Q8_0']);
  return fakeHub({
    [REPO]: repo(1.2e9, {
      files: { ...little, 'mmproj-Little-1B-f16.gguf': projector, 'README.md': README },
      downloads: 812_345,
      likes: 1290,
    }),
    'bo/Middling-8B-Instruct-GGUF': repo(8e9, {
      files: files('Middling-8B-Instruct', ['Q4_K_M', 'Q6_K', 'Q8_0']),
      downloads: 512_000,
      likes: 2210,
    }),
    'cy/Thorough-70B-Instruct-GGUF': repo(70.6e9, {
      files: files('Thorough-70B-Instruct', ['Q2_K', 'Q4_K_M']),
      downloads: 98_000,
      likes: 640,
      gated: 'manual',
    }),
    'dora/Coder-3B-GGUF': repo(3.1e9, { files: files('Coder-3B', ['Q4_K_M', 'Q8_0']), downloads: 77_500, likes: 410 }),
    'eva/Embedding-300M-GGUF': repo(300e6, {
      files: files('Embedding-300M', ['Q8_0', 'F16']),
      downloads: 41_000,
      likes: 150,
      pipelineTag: 'feature-extraction',
    }),
  });
}
