/** Minimal definitions of the add-on kinds that apps use. They accept any fields. */
import type { RealCluster } from './real-cluster.js';

const KINDS = [
  { group: 'gateway.networking.k8s.io', version: 'v1', plural: 'httproutes', kind: 'HTTPRoute' },
  { group: 'inference.networking.k8s.io', version: 'v1', plural: 'inferencepools', kind: 'InferencePool' },
  { group: 'http.keda.sh', version: 'v1beta1', plural: 'interceptorroutes', kind: 'InterceptorRoute' },
  { group: 'keda.sh', version: 'v1alpha1', plural: 'scaledobjects', kind: 'ScaledObject' },
];
const SPEC = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export async function installAddOns(cluster: RealCluster): Promise<void> {
  for (const { group, version, plural, kind } of KINDS) {
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec: SPEC } } };
    await cluster.ask('POST', DEFINITIONS, {
      metadata: {
        name: `${plural}.${group}`,
        // Kubernetes asks it of groups under its own names: that they are not reviewed.
        annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' },
      },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, kind, singular: kind.toLowerCase() },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    });
  }
}
