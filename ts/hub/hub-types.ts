/** Validated replies of a model hub. */

export type HubSort = 'trending' | 'downloads' | 'likes' | 'modified' | 'created';
export type Capability = 'chat' | 'tools' | 'vision' | 'embeddings';
/** Whether access must be requested, and whether it is granted automatically or by a person. */
export type Gating = false | 'auto' | 'manual';

export interface HubQuery {
  text?: string | undefined;
  sort?: HubSort | undefined;
  author?: string | undefined;
  limit?: number | undefined;
  /** `next` of the previous page. */
  cursor?: string | undefined;
  minParameters?: number | undefined;
  maxParameters?: number | undefined;
  capability?: Capability | undefined;
}

export interface HubPage {
  models: HubListedModel[];
  /** Cursor of the next page; `null` on the last page. */
  next: string | null;
}

/** An entry of a model list. `null` marks values the hub does not report. */
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
  /** Labels of the available quantisations, smallest first. */
  quantisations: string[];
}

export interface HubModel extends Omit<HubListedModel, 'quantisations'> {
  /** The commit that all fields refer to. */
  commit: string;
  private: boolean;
  licence: string | null;
  /** Smallest first. */
  quantisations: Quantisation[];
  /** All model files, for matching files on this computer. */
  files: HubFile[];
  /** Markdown without front matter; `null` if there is none. */
  readme: string | null;
}

/** The files of a repository that form one model of one precision. */
export interface Quantisation {
  /** Such as `Q4_K_M` or `UD-Q4_K_XL`, or the file name if it has no label. */
  label: string;
  bitsPerWeight: number | null;
  /** Sum of all parts and the projector. */
  sizeBytes: number;
  /** The parts in order. */
  files: HubFile[];
  /** Multimodal projector, for image input. */
  projector: HubFile | null;
  /** Description of size and quality. */
  words: string;
}

export interface HubFile {
  /** Slash-separated path in the repository. */
  path: string;
  sizeBytes: number;
  /** Lower-case hexadecimal; `null` if the hub does not report it. */
  sha256: string | null;
}
