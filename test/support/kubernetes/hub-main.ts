/**
 * A hub of models in a process of its own, which may be in a network of its own. Its argument says which files its
 * repositories have; it prints its address, and for each line that it reads what it has been asked.
 */
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { fakeHub, type RepoContent } from '../fake-hub.js';

export type HubRepos = Record<string, { files: Record<string, string> } & Pick<RepoContent, 'private' | 'tokens'>>;

const repos = JSON.parse(process.argv[2] as string) as HubRepos;
const hub = await fakeHub();
for (const [name, { files, ...repo }] of Object.entries(repos)) {
  const read = Object.entries(files).map(([file, from]) => [file, fs.readFileSync(from)] as const);
  hub.put(name, { ...repo, files: Object.fromEntries(read), gguf: { architecture: 'llama' } });
}
console.log(hub.url);
for await (const _ of createInterface({ input: process.stdin })) console.log(JSON.stringify(hub.seen));
process.exit(0);
