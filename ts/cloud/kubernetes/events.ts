/** What a cluster tells of an app's objects: pods that cannot be placed, images that cannot be had, probes that fail. */
import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL } from './kubernetes-app.js';

export interface ClusterEvent {
  /** The same event is told again and again; then its time and its count change. */
  id: string;
  /** When it was told last. */
  at: string | null;
  /** Such as `Pod/acme-chat-7d9f-x2x`. */
  object: string;
  type: string;
  reason: string;
  message: string;
  count: number;
}

interface NativeEvent {
  metadata: { uid?: string; name: string; creationTimestamp?: string };
  involvedObject?: { kind?: string; name?: string };
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string };
}

/** Of names that Kubernetes draws for pods, and how much of them is drawn. */
const POD_NAME_LENGTH = 63;
const DRAWN_LENGTH = 5;

interface Named {
  kind: string;
  metadata: { name: string };
}

/** Of this app alone, the latest last. Clusters forget them after an hour or so. */
export async function readEvents(cluster: Cluster, app: string): Promise<ClusterEvent[]> {
  const kinds = 'deployments.apps,replicasets.apps,pods,persistentvolumeclaims';
  const [objects, events] = await Promise.all([
    itemsOf<Named>(cluster, [kinds, `--selector=${APP_LABEL}=${app}`]),
    itemsOf<NativeEvent>(cluster, ['events']),
  ]);
  return eventsOf(objects, events);
}

async function itemsOf<Item>(cluster: Cluster, args: readonly string[]): Promise<Item[]> {
  const output = await kubectl(cluster, ['get', ...args, '--output=json']);
  return (JSON.parse(output) as { items: Item[] }).items;
}

/** A pod that is gone is known by its replica set, whose name its own begins with, as far as there is room. */
function eventsOf(objects: readonly Named[], events: readonly NativeEvent[]): ClusterEvent[] {
  const known = new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
  const sets = objects.filter(({ kind }) => kind === 'ReplicaSet');
  const podsBegin = new Set(sets.map(({ metadata }) => `${metadata.name}-`.slice(0, POD_NAME_LENGTH - DRAWN_LENGTH)));
  return events
    .filter(({ involvedObject: { kind = '', name = '' } = {} }) => {
      return known.has(`${kind}/${name}`) || (kind === 'Pod' && podsBegin.has(name.slice(0, -DRAWN_LENGTH)));
    })
    .map(toEvent)
    .sort((one, other) => (one.at ?? '').localeCompare(other.at ?? ''));
}

function toEvent(event: NativeEvent): ClusterEvent {
  const { metadata, involvedObject = {}, series } = event;
  return {
    id: metadata.uid ?? metadata.name,
    at: series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? metadata.creationTimestamp ?? null,
    object: `${involvedObject.kind}/${involvedObject.name}`,
    type: event.type ?? 'Normal',
    reason: event.reason ?? '',
    message: event.message ?? '',
    count: series?.count ?? event.count ?? 1,
  };
}
