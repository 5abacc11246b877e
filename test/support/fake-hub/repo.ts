/** Repositories of a fake hub, and how Hugging Face's interface describes them. */
import { createHash } from 'node:crypto';

export interface RepoContent {
  /** By their paths. */
  files: Record<string, Buffer | string>;
  gguf?: { total?: number; architecture?: string; context_length?: number; chat_template?: string };
  downloads?: number;
  likes?: number;
  pipelineTag?: string;
  licence?: string;
  gated?: 'auto' | 'manual';
  private?: boolean;
  disabled?: boolean;
  /** Those that open it where it is gated or private. */
  tokens?: string[];
  /** The tree says nothing of digests. */
  withoutDigests?: boolean;
  /** Replaces the digest of a file in the tree. */
  wrongDigest?: string;
  /** Replaces the size of the files in the tree. */
  sizeBytes?: number;
}

export interface FakeRepo {
  name: string;
  commit: string;
  content: RepoContent;
  files: Map<string, Buffer>;
}

export function toRepo(name: string, content: RepoContent): FakeRepo {
  const files = new Map(Object.entries(content.files).map(([path, bytes]) => [path, Buffer.from(bytes)]));
  const hash = createHash('sha1').update(name);
  for (const [path, bytes] of files) hash.update(path).update(bytes);
  return { name, commit: hash.digest('hex'), content, files };
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Large files have a digest of SHA-256, others only git's. */
export function treeEntries({ files, content }: FakeRepo): object[] {
  const folders = new Set(
    [...files.keys()].flatMap((path) => (path.includes('/') ? [path.replace(/\/[^/]*$/, '')] : [])),
  );
  return [
    ...[...folders].map((path) => ({ type: 'directory', oid: 'f'.repeat(40), size: 0, path })),
    ...[...files].map(([path, bytes]) => ({
      type: 'file',
      path,
      size: content.sizeBytes ?? bytes.length,
      oid: createHash('sha1').update(bytes).digest('hex'),
      ...(/\.gguf$/.test(path) && !content.withoutDigests && { lfs: lfsOf(bytes, content), xetHash: 'e'.repeat(64) }),
    })),
  ];
}

function lfsOf(bytes: Buffer, { wrongDigest, sizeBytes = bytes.length }: RepoContent): object {
  return { oid: wrongDigest ?? sha256(bytes), size: sizeBytes, pointerSize: 135 };
}

export function modelInfo(repo: FakeRepo, withBlobs: boolean): object {
  const { content, files, commit, name } = repo;
  return {
    ...listedModel(repo),
    id: name,
    sha: commit,
    disabled: content.disabled ?? false,
    cardData: { license: content.licence },
    siblings: [...files].map(([path, bytes]) => ({
      rfilename: path,
      ...(withBlobs && { size: bytes.length, lfs: { sha256: sha256(bytes), size: bytes.length } }),
    })),
  };
}

export function listedModel({ name, content, files }: FakeRepo): object {
  return {
    _id: createHash('md5').update(name).digest('hex').slice(0, 24),
    id: name,
    modelId: name,
    author: name.split('/')[0],
    private: content.private ?? false,
    gated: content.gated ?? false,
    downloads: content.downloads ?? 0,
    likes: content.likes ?? 0,
    lastModified: '2026-05-04T03:02:01.000Z',
    tags: ['gguf', ...(content.licence ? [`license:${content.licence}`] : [])],
    pipeline_tag: content.pipelineTag,
    siblings: [...files.keys()].map((rfilename) => ({ rfilename })),
    ...(content.gguf && { gguf: content.gguf }),
  };
}
