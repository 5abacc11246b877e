/** Objects as people read them, and as `kubectl apply --filename` takes them. */
import { stringify } from 'yaml';
import type { KubernetesObject } from './kubernetes-app.js';

export function toYaml(objects: readonly KubernetesObject[]): string {
  return objects.map((object) => stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n');
}
