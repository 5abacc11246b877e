/** Client of the Hugging Face hub, or of the hub in HF_ENDPOINT, for models in GGUF files. */
import { ChasquiError, invalidValue } from '../errors.js';
import { type HubReply, HubRequests, headerOf } from './hub-requests.js';
import { HUGGING_FACE } from './hub-settings.js';
import type { Capability, HubFile, HubModel, HubPage, HubQuery, HubSort } from './hub-types.js';
import { isRepoName } from './model-name.js';
import { groupQuantisations } from './quantisations.js';
import {
  isCommit,
  type Json,
  toArray,
  toCapabilities,
  toCount,
  toFiles,
  toGating,
  toListedModel,
  toObject,
  toParameters,
  toText,
  toTime,
} from './read-hub-replies.js';

export type * from './hub-types.js';

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
const MAX_TEXT_LENGTH = 200;
const MAX_CURSOR_LENGTH = 2000;
/** Page size of file listings on the hub. */
const MAX_TREE_PAGES = 10;
const MAX_README_BYTES = 512 * 1024;

const SORTS: Readonly<Record<HubSort, string>> = {
  trending: 'trendingScore',
  downloads: 'downloads',
  likes: 'likes',
  modified: 'lastModified',
  created: 'createdAt',
};

/** Pipeline tags of the hub by capability. Others are derived from each model: chat models have several pipeline tags. */
const KINDS: Readonly<Partial<Record<Capability, string>>> = {
  vision: 'image-text-to-text',
  embeddings: 'feature-extraction',
};

const EXPANDED = ['gguf', 'downloads', 'likes', 'lastModified', 'gated', 'tags', 'siblings', 'pipeline_tag'];

export interface HubClientOptions {
  /** Base URL; default: Hugging Face. */
  endpoint?: string | undefined;
  token?: string | null | undefined;
}

export class HubClient {
  /** Low-level requests, such as for files. */
  readonly requests: HubRequests;

  constructor({ endpoint = HUGGING_FACE, token = null }: HubClientOptions = {}) {
    this.requests = new HubRequests({ endpoint, token });
  }

  /**
   * Lists models in GGUF files, one page at a time.
   * @throws {ChasquiError} `invalid_value` for an invalid query, or a hub error.
   */
  async search(query: HubQuery, signal?: AbortSignal): Promise<HubPage> {
    const url = this.requests.url('api/models');
    url.search = searchParameters(query).toString();
    const { value, reply } = await this.requests.json(url, { what: 'a list of models', signal });
    if (!Array.isArray(value)) throw new ChasquiError('hub_failed', "The hub's list of models is not a JSON array.");
    const models = toArray(value, MAX_LIMIT)
      .map(toListedModel)
      .filter((model) => model !== null);
    const { capability } = query;
    const isDerived = capability !== undefined && KINDS[capability] === undefined;
    const wanted = isDerived ? models.filter(({ capabilities }) => capabilities.includes(capability)) : models;
    return { models: wanted, next: nextCursor(reply) };
  }

  /**
   * Returns a model's current commit, files and description.
   * @throws {ChasquiError} `invalid_model_name`, or a hub error.
   */
  async model(repo: string, signal?: AbortSignal): Promise<HubModel> {
    if (!isRepoName(repo)) {
      throw new ChasquiError('invalid_model_name', `\`${String(repo).slice(0, 100)}\` is not user/name.`, 'model');
    }
    const asked = { what: `the model ${repo}`, page: this.pageOf(repo), signal };
    const { value } = await this.requests.json(this.requests.url('api/models', repo), asked);
    const model = toObject(value);
    const { sha } = model;
    if (!isCommit(sha)) throw new ChasquiError('hub_failed', `The hub's reply has no commit of ${repo}.`);
    const files = await this.#files(repo, sha, signal);
    const readme = await this.#readme(repo, sha, files, signal);
    return toHubModel(repo, sha, model, files, readme);
  }

  /** Returns the current commit of a repository. */
  async commitOf(repo: string, signal?: AbortSignal): Promise<string> {
    const asked = { what: `the model ${repo}`, page: this.pageOf(repo), signal };
    const { value } = await this.requests.json(this.requests.url('api/models', repo, 'refs'), asked);
    const branches = toArray(toObject(value).branches, 1000).map(toObject);
    const commit = branches.find(({ name }) => name === 'main')?.targetCommit;
    if (!isCommit(commit)) throw new ChasquiError('hub_failed', `The hub's reply has no commit of ${repo}.`);
    return commit;
  }

  /** The model's web page. */
  pageOf(repo: string): string {
    return `${this.requests.endpoint}/${repo}`;
  }

  fileUrl(repo: string, commit: string, path: string): URL {
    return this.requests.url(repo, 'resolve', commit, path);
  }

  close(): Promise<void> {
    return this.requests.close();
  }

  async #files(repo: string, commit: string, signal: AbortSignal | undefined): Promise<HubFile[]> {
    const files: HubFile[] = [];
    const asked = { what: `the files of ${repo}`, page: this.pageOf(repo), signal };
    let cursor: string | null = null;
    for (let page = 0; page < MAX_TREE_PAGES; page += 1) {
      const url = this.requests.url('api/models', repo, 'tree', commit);
      url.search = new URLSearchParams({ recursive: 'true', ...(cursor && { cursor }) }).toString();
      const { value, reply } = await this.requests.json(url, asked);
      files.push(...toFiles(toArray(value, 1000)));
      cursor = nextCursor(reply);
      if (cursor === null) break;
    }
    return files;
  }

  /** Returns `null` if the description cannot be fetched. */
  async #readme(repo: string, commit: string, files: readonly HubFile[], signal?: AbortSignal): Promise<string | null> {
    const file = files.find(({ path }) => path === 'README.md');
    if (file === undefined || file.sizeBytes > MAX_README_BYTES) return null;
    const url = this.fileUrl(repo, commit, file.path);
    try {
      const text = await this.requests.text(url, MAX_README_BYTES, { what: `the description of ${repo}`, signal });
      return text?.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, '').trim() || null;
    } catch {
      signal?.throwIfAborted();
      return null;
    }
  }
}

function toHubModel(repo: string, commit: string, model: Json, files: HubFile[], readme: string | null): HubModel {
  const gguf = toObject(model.gguf);
  const parameters = toParameters(gguf.total);
  const models = files.filter(({ path }) => /\.gguf$/i.test(path));
  return {
    repo,
    commit,
    private: model.private === true,
    gated: toGating(model.gated),
    downloads: toCount(model.downloads) ?? 0,
    likes: toCount(model.likes) ?? 0,
    modifiedAt: toTime(model.lastModified),
    licence: licenceOf(model),
    parameters,
    architecture: toText(gguf.architecture, 100),
    contextLength: toCount(gguf.context_length),
    capabilities: toCapabilities(
      model,
      files.map(({ path }) => path),
    ),
    quantisations: groupQuantisations(models, parameters),
    files: models,
    readme,
  };
}

function licenceOf(model: Json): string | null {
  const { license } = toObject(model.cardData);
  const tag = toArray(model.tags, 500).find((each) => typeof each === 'string' && each.startsWith('license:'));
  return toText(license, 100) ?? toText((tag as string | undefined)?.slice('license:'.length), 100);
}

function searchParameters(query: HubQuery): URLSearchParams {
  const { text, author, cursor, capability, sort = 'trending', limit = DEFAULT_LIMIT } = query;
  if (!Object.hasOwn(SORTS, sort)) throw refused('sort', `${sort} is not one of ${Object.keys(SORTS).join(', ')}`);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw refused('limit', `it must be 1 to ${MAX_LIMIT}`);
  for (const [name, value, max] of [
    ['text', text, MAX_TEXT_LENGTH],
    ['author', author, MAX_TEXT_LENGTH],
    ['cursor', cursor, MAX_CURSOR_LENGTH],
  ] as const) {
    if (value !== undefined && value.length > max) throw refused(name, `it is longer than ${max} characters`);
  }
  const kind = capability && KINDS[capability];
  const parameters = new URLSearchParams({
    filter: 'gguf',
    sort: SORTS[sort],
    limit: String(limit),
    ...(text && { search: text }),
    ...(author && { author }),
    ...(kind && { pipeline_tag: kind }),
    ...(cursor && { cursor }),
  });
  const size = sizeRange(query);
  if (size) parameters.set('num_parameters', size);
  for (const field of EXPANDED) parameters.append('expand', field);
  return parameters;
}

function sizeRange({ minParameters, maxParameters }: HubQuery): string {
  const bounds = [
    ['min', minParameters],
    ['max', maxParameters],
  ] as const;
  return bounds
    .filter(([, count]) => count !== undefined)
    .map(([name, count = 0]) => {
      if (!(count >= 0) || count > 1e15) throw refused(`${name}Parameters`, 'it must be a number from 0');
      return `${name}:${Number((count / 1e9).toFixed(3))}B`;
    })
    .join(',');
}

function refused(name: string, why: string): ChasquiError {
  return invalidValue(`Invalid \`${name}\`: ${why}.`, name);
}

/** Returns the cursor in `Link: <https://…?cursor=…>; rel="next"`. */
function nextCursor(reply: HubReply): string | null {
  const link = /<([^>]{1,4000})>\s*;\s*rel="?next"?/.exec(headerOf(reply, 'link') ?? '')?.[1];
  if (link === undefined || !URL.canParse(link, reply.url.href)) return null;
  const cursor = new URL(link, reply.url).searchParams.get('cursor');
  return cursor !== null && cursor.length <= MAX_CURSOR_LENGTH ? cursor : null;
}
