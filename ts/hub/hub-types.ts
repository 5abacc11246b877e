/** What a model hub says of its models, checked and in the words used here. */

export type HubSort = 'trending' | 'downloads' | 'likes' | 'modified' | 'created';
export type Capability = 'chat' | 'tools' | 'vision' | 'embeddings';
/** Whether access has to be asked for, and whether it is then given at once or by a person. */
export type Gating = false | 'auto' | 'manual';

export interface HubQuery {
  text?: string | undefined;
  sort?: HubSort | undefined;
  author?: string | undefined;
  /** Models of one page. */
  limit?: number | undefined;
  /** `next` of the page before. */
  cursor?: string | undefined;
  minParameters?: number | undefined;
  maxParameters?: number | undefined;
  capability?: Capability | undefined;
}

export interface HubPage {
  models: HubListedModel[];
  /** The cursor of the next page; `null`: this is the last. */
  next: string | null;
}

/** A model as a list shows it. What the hub does not say is `null`. */
export interface HubListedModel {
  /** `user/name` */
  repo: string;
  downloads: number;
  likes: number;
  /** Milliseconds since 1970. */
  modifiedAt: number | null;
  gated: Gating;
  parameters: number | null;
  architecture: string | null;
  contextLength: number | null;
  capabilities: Capability[];
  /** The labels of those that there are files of, the smallest first. */
  quantisations: string[];
}

export interface HubModel extends Omit<HubListedModel, 'quantisations'> {
  /** The state of the repository that everything here is about. */
  commit: string;
  private: boolean;
  licence: string | null;
  /** The smallest first. */
  quantisations: Quantisation[];
  /** All model files, those of quantisations and others; to find again what is on this computer already. */
  files: HubFile[];
  /** Markdown, without its front matter; `null` where there is none. */
  readme: string | null;
}

/** The files of one repository that make one model of one precision. */
export interface Quantisation {
  /** Such as `Q4_K_M` or `UD-Q4_K_XL`; what the file is called where its name has no label. */
  label: string;
  bitsPerWeight: number | null;
  /** Of all parts and the projector. */
  sizeBytes: number;
  /** The parts in order; one where the model is in one file. */
  files: HubFile[];
  /** What makes images readable for the model. */
  projector: HubFile | null;
  /** What it is good for, in plain words. */
  words: string;
}

export interface HubFile {
  /** In the repository, with slashes. */
  path: string;
  sizeBytes: number;
  /** In lower-case hexadecimal; `null` where the hub does not say. */
  sha256: string | null;
}
