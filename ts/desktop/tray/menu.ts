/** The menu of the tray icon, as `com.canonical.dbusmenu`. */
import type { Interface, SessionBus } from './session-bus.js';

export interface MenuEntry {
  label: string;
  isEnabled: boolean;
  run(): unknown;
}

export const MENU_PATH = '/MenuBar';

const MENU: Interface = {
  name: 'com.canonical.dbusmenu',
  methods: {
    GetLayout: ['iias', 'u(ia{sv}av)'],
    GetGroupProperties: ['aias', 'a(ia{sv})'],
    GetProperty: ['is', 'v'],
    Event: ['isvu', ''],
    EventGroup: ['a(isvu)', 'ai'],
    AboutToShow: ['i', 'b'],
    AboutToShowGroup: ['ai', 'aiai'],
  },
  signals: { LayoutUpdated: ['ui'] },
  properties: { Version: 'u', TextDirection: 's', Status: 's', IconThemePath: 'as' },
};

const ROOT = 0;

type Variant = readonly [signature: string, value: unknown];
type Properties = readonly (readonly [name: string, value: Variant])[];

/** `entries` is called for each request, and `act` with the action of a clicked entry. Returns a function that announces changes. */
export function exportMenu(
  bus: SessionBus,
  entries: () => readonly MenuEntry[],
  act: (action: () => unknown) => void,
): () => void {
  let revision = 1;
  /** Ids start at 1. */
  const entryOf = (id: number) => entries()[id - 1];
  const propertiesOf = (id: number): Properties => {
    if (id === ROOT) return [['children-display', ['s', 'submenu']]];
    const { label = '', isEnabled = false } = entryOf(id) ?? {};
    return [
      // Underscores mark access keys.
      ['label', ['s', label.replaceAll('_', '__')]],
      ['enabled', ['b', isEnabled]],
      ['visible', ['b', true]],
    ];
  };
  const ids = () => entries().map((_, index) => index + 1);
  const choose = (id: number, event: string) => {
    const entry = event === 'clicked' ? entryOf(id) : undefined;
    if (entry?.isEnabled) act(entry.run);
  };
  bus.export(MENU_PATH, MENU, {
    Version: 3,
    TextDirection: 'ltr',
    Status: 'normal',
    IconThemePath: [],
    GetLayout: (parent: number, depth: number) => {
      const children = parent === ROOT && depth !== 0 ? ids() : [];
      return [
        revision,
        [parent, propertiesOf(parent), children.map((id) => ['(ia{sv}av)', [id, propertiesOf(id), []]])],
      ];
    },
    GetGroupProperties: (wanted: number[]) =>
      (wanted.length > 0 ? wanted : [ROOT, ...ids()]).map((id) => [id, propertiesOf(id)]),
    GetProperty: (id: number, name: string) => new Map(propertiesOf(id)).get(name) ?? ['s', ''],
    Event: choose,
    EventGroup: (events: [number, string][]) => {
      for (const [id, event] of events) choose(id, event);
      return [];
    },
    AboutToShow: () => false,
    AboutToShowGroup: () => [[], []],
  });
  return () => {
    revision += 1;
    bus.emit(MENU_PATH, MENU, 'LayoutUpdated', [revision, ROOT]);
  };
}
