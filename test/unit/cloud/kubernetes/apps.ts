/** Apps to make objects of. */
import type { KubernetesApp } from '../../../../ts/cloud/kubernetes/kubernetes-app.js';

/** The least that an app can be. */
export const SMALL: KubernetesApp = {
  org: 'acme',
  name: 'chat',
  revision: '5f'.repeat(32),
  message: null,
  image: 'registry.example/chasqui@sha256:00',
  auth: 'public',
  keys: [],
  options: '{"model":"demo"}',
  fetchPorts: [],
  slots: 4,
  machine: { cpu: null, memory: '2Gi', gpu: 0 },
  scale: { min: 0, max: 1, keepAliveSeconds: 300 },
  timeouts: { startSeconds: 600, requestSeconds: 3600, drainSeconds: 300 },
  strategy: 'rolling',
  weights: null,
  secret: null,
  gateway: null,
  scaler: null,
  endpointPicker: null,
};

/** The most. */
export const LARGE: KubernetesApp = {
  ...SMALL,
  message: 'more room',
  auth: 'private',
  keys: [{ id: '0123456789abcdef', hash: 'ab'.repeat(32), org: 'acme', expiresAt: null }],
  options: '{"chatTemplate":"$(HF_TOKEN) $$","model":"https://models.example:8443/m.gguf"}',
  fetchPorts: [8443],
  slots: 8,
  machine: { cpu: 4, memory: '8Gi', gpu: 1 },
  scale: { min: 2, max: 4, keepAliveSeconds: 300 },
  strategy: 'recreate',
  weights: { size: '20Gi', storageClass: 'fast' },
  secret: { name: 'hub', variables: ['HF_TOKEN', 'OTHER'] },
  gateway: { name: 'web', namespace: 'gateways', host: 'models.example' },
  scaler: { kind: 'keda-http', host: 'models.example' },
  endpointPicker: { name: 'picker', port: 9002 },
};
