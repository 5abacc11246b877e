/** Ranks texts by the cosine similarity of their embeddings to that of a question. Vectors are stored with the chat. */
import { createHash } from 'node:crypto';
import type { Store } from '../store/database.js';

/** Embeds texts with a local model. Returns unit vectors, in base64. */
export type Embed = (model: string, texts: readonly string[], signal: AbortSignal) => Promise<string[]>;

const BATCH = 32;
const MAX_STORED = 1024;
/** Vectors of the same text in other batches differ by rounding. */
const SAME = 0.999;

export class VectorStore {
  constructor(private readonly store: Store) {}

  read(chat: string, model: string): Map<string, string> {
    const rows = this.store.rows<{ digest: string; vector: string }>(
      'SELECT digest, vector FROM passage_vectors WHERE chat = ? AND model = ?',
      chat,
      model,
    );
    return new Map(rows.map(({ digest, vector }) => [digest, vector]));
  }

  forget(chat: string, model: string): void {
    this.store.run('DELETE FROM passage_vectors WHERE chat = ? AND model = ?', chat, model);
  }

  /** Keeps the newest ones of the chat. Does nothing if the chat was deleted. */
  write(chat: string, model: string, vectors: ReadonlyMap<string, string>): void {
    this.store.transaction(() => {
      for (const [digest, vector] of vectors) {
        this.store.run(
          'INSERT OR IGNORE INTO passage_vectors (chat, model, digest, vector) SELECT id, ?, ?, ? FROM chats WHERE id = ?',
          model,
          digest,
          vector,
          chat,
        );
      }
      this.store.run(
        `DELETE FROM passage_vectors WHERE chat = ?1 AND number NOT IN
         (SELECT number FROM passage_vectors WHERE chat = ?1 ORDER BY number DESC LIMIT ${MAX_STORED})`,
        chat,
      );
    });
  }
}

/** Rejects if the model cannot embed the texts. */
export async function scoresByMeaning(
  { vectors, embed }: { vectors: VectorStore; embed: Embed },
  { chat, model, question }: { chat: string; model: string; question: string },
  texts: readonly string[],
  signal: AbortSignal,
): Promise<number[]> {
  const digests = texts.map((text) => createHash('sha256').update(text).digest('base64url'));
  const known = vectors.read(chat, model);
  const stored = digests.findIndex((digest) => known.has(digest));
  const [asked, again] = await embed(model, stored < 0 ? [question] : [question, texts[stored] as string], signal);
  // Another file of the same name, or other load settings, compute other vectors.
  if (stored >= 0 && cosine(again as string, known.get(digests[stored] as string) as string) < SAME) {
    vectors.forget(chat, model);
    known.clear();
  }
  const missing = texts.map((text, at) => [digests[at] as string, text] as const).filter(([each]) => !known.has(each));
  for (let at = 0; at < missing.length; at += BATCH) {
    const batch = missing.slice(at, at + BATCH);
    const embedded = await embed(
      model,
      batch.map(([, text]) => text),
      signal,
    );
    const added = new Map(batch.map(([digest], index) => [digest, embedded[index] as string]));
    vectors.write(chat, model, added);
    for (const [digest, vector] of added) known.set(digest, vector);
  }
  const wanted = numbersOf(asked as string);
  return digests.map((digest) => product(wanted, numbersOf(known.get(digest) as string)));
}

function numbersOf(base64: string): Float32Array {
  return new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer);
}

const cosine = (one: string, other: string): number => {
  const [left, right] = [numbersOf(one), numbersOf(other)];
  return left.length === right.length ? product(left, right) : 0;
};

/** Of unit vectors: the cosine of their angle. */
function product(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}
