/** Determines whether a command targets a cluster, and which one. */
import type { Cluster } from '../../cloud/kubernetes/kubectl.js';
import { OWN_ORG } from '../../cloud/places.js';
import { givenOptions } from '../options/table-options.js';
import { TARGET_OPTIONS } from './kubernetes-option-table.js';
import { COMMON_OPTIONS } from './option-table.js';

/** The cluster and organisation of an app, and the output format. */
export interface Place {
  cluster: Cluster;
  org: string;
  json: boolean;
}

/** Returns null if the command targets a chasqui cloud. */
export function placeOf(parsed: Readonly<Record<string, unknown>>): Place | null {
  const { target, context, namespace } = givenOptions(TARGET_OPTIONS, parsed, {});
  if (target !== 'kubernetes' && context === undefined && namespace === undefined) return null;
  const { org = OWN_ORG, json = false } = givenOptions(COMMON_OPTIONS, parsed, {});
  return { cluster: { context: context ?? null, namespace: namespace ?? null }, org, json };
}
