/** What the hub's calls reply with. */

export interface Fit {
  badge: 'gpu' | 'partly-gpu' | 'cpu' | 'too-large';
  needBytes: number;
  haveBytes: number;
  words: string;
  weights?: number;
  kv?: number;
  compute?: number;
  contextThatFits?: number | null;
}

export type Gating = false | 'auto' | 'manual';

export interface HubListedModel {
  repo: string;
  downloads: number;
  likes: number;
  modifiedAt: string | number | null;
  gated: Gating;
  parameters: number | null;
  architecture: string | null;
  contextLength: number | null;
  capabilities: string[];
  quantisations: string[];
  fit: Fit | null;
  downloaded: string[];
}

export interface HubQuantisation {
  label: string;
  bitsPerWeight: number | null;
  sizeBytes: number;
  files: { path: string; sizeBytes: number }[];
  projector: { path: string; sizeBytes: number } | null;
  words: string;
  fit: Fit | null;
  recommended: 'recommended' | 'better' | null;
  downloaded: boolean;
}

export interface HubModel {
  repo: string;
  commit: string | null;
  gated: Gating;
  licence: string | null;
  architecture: string | null;
  contextLength: number | null;
  parameters: number | null;
  quantisations: HubQuantisation[];
  readme: string | null;
}
