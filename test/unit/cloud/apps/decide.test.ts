// Starting and stopping of runners: single situations, and many seeded simulations that must keep all invariants.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Action,
  activeRunners,
  decide,
  desiredRunners,
  neededRunners,
  type PlannedApp,
  type PlannedRunner,
} from '../../../../ts/cloud/apps/decide.ts';
import { readQuotas } from '../../../../ts/cloud/apps/quotas.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { appOf, GIB, plan, runner, short } from './planned-apps.ts';

test('a request wakes an app that sleeps, at once', () => {
  const scale = { min: 0, max: 3, buffer: 0, keepAliveMs: 0, delayMs: 60_000 };
  assert.equal(short(plan([appOf('a', { demand: { running: 0, queued: 1 }, scale })])), ['start a 1']);
});

test('as many runners as the requests need, no more than may be', () => {
  const demand = { running: 4, queued: 5 };
  assert.is(desiredRunners(appOf('a', { demand })), 3);
  assert.equal(short(plan([appOf('a', { demand, runners: [runner('r1')] })])), ['start a 1', 'start a 1']);
  assert.is(desiredRunners(appOf('a', { scale: { min: 1, max: 4, buffer: 1, keepAliveMs: 0, delayMs: 0 } })), 1);
});

test('more runners beside those there are come after the delay only', () => {
  const scale = { min: 0, max: 3, buffer: 0, keepAliveMs: 1000, delayMs: 1000 };
  const app = { demand: { running: 2, queued: 1 }, scale, runners: [runner('r1')] };
  assert.equal(plan([appOf('a', { ...app, tooFewSince: 4500 })]), []);
  assert.equal(short(plan([appOf('a', { ...app, tooFewSince: 4000 })])), ['start a 1']);
});

test('excess runners end one at a time, the newest first, after a delay', () => {
  const runners = [runner('r1'), runner('r2'), runner('r3', { state: 'starting' })];
  assert.equal(plan([appOf('a', { runners, tooManySince: 4001 })]), []);
  assert.equal(short(plan([appOf('a', { runners, tooManySince: 4000 })])), ['stop r3: no longer needed']);
});

test('an idle runner stops before a busy one, for its own app and for another', () => {
  const runners = [2, 0, 1].map((running, index) => runner(`r${index}`, { running }));
  const app = appOf('a', { runners, demand: { running: 3, queued: 0 } });
  assert.equal(short(plan([{ ...app, tooManySince: 0 }])), ['stop r1: no longer needed']);
  const busy = appOf('b', { runners: runners.filter(({ running }) => running > 0), demand: { running: 1, queued: 0 } });
  assert.equal(short(plan([{ ...busy, tooManySince: 0 }])), ['stop r2: no longer needed']);
  const wants = appOf('w', { demand: { running: 0, queued: 1 } });
  assert.equal(short(plan([wants, app], { budgetBytes: 3 * GIB })), ['stop r1: evicted for w', 'wait w']);
});

test('GPUs are reserved whole; idle runners are evicted for them only if that frees enough', () => {
  const demand = { running: 0, queued: 1 };
  const active = { revision: 1, bytes: GIB, gpus: 1 };
  const held = [runner('r1', { gpus: 1 })];
  const asks = appOf('asks', { active, demand });
  const small = appOf('small', { demand });
  const idle = appOf('idle', { active, runners: held });
  assert.equal(short(plan([idle, asks, small], { gpus: 2 })), ['start asks 1', 'start small 1']);
  assert.equal(short(plan([asks, appOf('other', { active, demand })], { gpus: 1 })), ['start asks 1', 'wait other']);
  const evicted = plan([idle, asks, small], { gpus: 1 });
  assert.equal(short(evicted), ['stop r1: evicted for asks', 'wait asks', 'start small 1']);
  assert.is(evicted[1]?.kind === 'wait' && evicted[1].reason, 'out of GPUs: needs 1, free 0 of 1');
  const busy = appOf('busy', { active, runners: [runner('r2', { gpus: 1 })], demand: { running: 1, queued: 0 } });
  const both = appOf('both', { active: { ...active, gpus: 2 }, demand });
  assert.equal(short(plan([idle, busy, both], { gpus: 2 })), ['wait both']);
  const candidate = { ...active, revision: 2, strategy: 'rolling', since: 0 } as const;
  const own = { active, candidate, runners: held };
  assert.equal(short(plan([appOf('own', own)], { gpus: 1 })), ['refuse own']);
  assert.equal(short(plan([appOf('own', own)], { gpus: 2 })), ['start own 2']);
});

test('after a crash no runner is started before its rest is over', () => {
  const app = appOf('a', { demand: { running: 0, queued: 1 }, backOffUntil: 5001 });
  assert.equal(plan([app]), []);
  assert.equal(short(plan([app], { now: 5001 })), ['start a 1']);
});

test('a candidate is started beside the old runners, which stay until it is active', () => {
  const candidate = { revision: 2, bytes: GIB, gpus: 0, strategy: 'rolling', since: 0 } as const;
  const runners = [runner('r1')];
  const app = appOf('a', { candidate, runners, demand: { running: 1, queued: 0 } });
  assert.equal(short(plan([app])), ['start a 2']);
  const ready = appOf('a', {
    active: { revision: 2, bytes: GIB, gpus: 0 },
    runners: [...runners, runner('r2', { revision: 2 })],
  });
  assert.equal(short(plan([ready])), ['stop r1: replaced by another revision']);
});

test('to recreate, the old runners go first, and the candidate waits for their end', () => {
  const candidate = { revision: 2, bytes: GIB, gpus: 0, strategy: 'recreate', since: 0 } as const;
  for (const budgetBytes of [10 * GIB, GIB]) {
    const app = appOf('a', { candidate, runners: [runner('r1')] });
    assert.equal(short(plan([app], { budgetBytes })), ['stop r1: stopped for revision 2', 'wait a']);
  }
  const leaving = [runner('r1', { state: 'leaving' })];
  assert.equal(short(plan([appOf('a', { candidate, runners: leaving })])), ['wait a']);
  assert.equal(short(plan([appOf('a', { candidate })])), ['start a 2']);
});

test('a candidate that never fits beside the old runners is refused, with what to do', () => {
  const candidate = { revision: 2, bytes: 3 * GIB, gpus: 0, strategy: 'rolling', since: 0 } as const;
  const app = appOf('a', { candidate, runners: [runner('r1', { bytes: 3 * GIB })], demand: { running: 1, queued: 0 } });
  const [action] = plan([app], { budgetBytes: 4 * GIB });
  assert.is(action?.kind, 'refuse');
  assert.match(
    action?.kind === 'refuse' ? action.reason : '',
    'needs 3.0 GiB, but the runners of the active revision use 3.0 GiB of 4.0 GiB',
  );
  assert.match(action?.kind === 'refuse' ? action.reason : '', 'the strategy `recreate`');
});

test('idle runners of others give way, those used longest ago first, and never ones that are needed', () => {
  const wants = appOf('w', { demand: { running: 0, queued: 1 }, active: { revision: 1, bytes: 2 * GIB, gpus: 0 } });
  const older = appOf('o', { usedAt: 1, runners: [runner('o1')] });
  const newer = appOf('n', { usedAt: 2, runners: [runner('n1')] });
  const busy = appOf('b', { usedAt: 0, demand: { running: 1, queued: 0 }, runners: [runner('b1')] });
  const kept = appOf('k', { usedAt: 0, scale: { ...older.scale, min: 1 }, runners: [runner('k1')] });
  const all = [wants, newer, older, busy, kept];
  assert.equal(short(plan(all, { budgetBytes: 5 * GIB })), ['stop o1: evicted for w', 'wait w']);
  const [, waits] = plan(all, { budgetBytes: 5 * GIB });
  assert.is(waits?.kind === 'wait' && waits.reason, 'out of memory: needs 2.0 GiB, free 1.0 GiB');
  assert.equal(short(plan([wants, busy, kept], { budgetBytes: 3 * GIB })), ['wait w']);
});

test('one that is only kept in reserve makes nobody give way, and nobody wait', () => {
  const scale = { min: 0, max: 1, buffer: 1, keepAliveMs: 1000, delayMs: 0 };
  const spare = appOf('s', { scale, tooFewSince: 1 });
  const other = appOf('o', { scale, runners: [runner('o1')] });
  assert.equal(short(plan([spare, other], { budgetBytes: GIB })), ['wait s']);
  const needed = appOf('n', { demand: { running: 0, queued: 1 }, tooFewSince: 2 });
  assert.equal(short(plan([spare, other, needed], { budgetBytes: GIB })), [
    'wait s',
    'stop o1: evicted for n',
    'wait n',
  ]);
});

test('apps wait for memory in order, except behind one that needs all of it', () => {
  const first = appOf('f', {
    demand: { running: 0, queued: 1 },
    tooFewSince: 1,
    active: { revision: 1, bytes: 3 * GIB, gpus: 0 },
  });
  const second = appOf('s', { demand: { running: 0, queued: 1 }, tooFewSince: 2 });
  const busy = appOf('b', { demand: { running: 1, queued: 0 }, runners: [runner('b1', { bytes: 2 * GIB })] });
  const actions = plan([second, busy, first], { budgetBytes: 4 * GIB });
  assert.equal(short(actions), ['wait f', 'wait s']);
  assert.match(actions[1]?.kind === 'wait' ? actions[1].reason : '', '; f is first in line');
  const huge = { ...first, active: { revision: 1, bytes: 9 * GIB, gpus: 0 } };
  assert.equal(short(plan([second, busy, huge], { budgetBytes: 4 * GIB })), ['wait f', 'start s 1']);
  assert.equal(short(plan([huge], { budgetBytes: 4 * GIB })), ['start f 1']);
});

test('one that others’ kept runners leave no memory for stops nobody, and nobody waits behind it', () => {
  const scale = { min: 1, max: 1, buffer: 0, keepAliveMs: 1000, delayMs: 0 };
  const kept = appOf('k', {
    scale,
    runners: [runner('k1', { bytes: 6 * GIB })],
    active: { revision: 1, bytes: 6 * GIB, gpus: 0 },
  });
  const idle = appOf('i', { runners: [runner('i1')] });
  const second = appOf('s', { demand: { running: 0, queued: 1 }, tooFewSince: 2 });
  const candidate = { revision: 1, bytes: 8 * GIB, gpus: 0, strategy: 'rolling', since: 1 } as const;
  const large = appOf('l', { active: null, candidate });
  assert.equal(short(plan([kept, idle, large, second])), ['wait l', 'start s 1']);
  const asked = appOf('l', {
    active: { revision: 1, bytes: 8 * GIB, gpus: 0 },
    demand: { running: 0, queued: 1 },
    tooFewSince: 1,
  });
  assert.equal(short(plan([kept, idle, asked, second])), ['wait l', 'start s 1']);
});

test('an app whose own runners leave no memory for another one of it holds up nobody', () => {
  const demand = { running: 4, queued: 2 };
  const wide = { active: { revision: 1, bytes: 4 * GIB, gpus: 0 }, demand, tooFewSince: 1 };
  const idle = appOf('i', { runners: [runner('i1')] });
  const second = appOf('s', { demand: { running: 0, queued: 1 }, tooFewSince: 2 });
  const two = [runner('w1', { bytes: 4 * GIB }), runner('w2', { bytes: 4 * GIB })];
  assert.equal(short(plan([appOf('w', { ...wide, runners: two }), idle, second])), ['wait w', 'start s 1']);
  const none = short(plan([appOf('w', wide), idle, second]));
  assert.equal(none, ['start w 1', 'start w 1', 'wait w', 'start s 1']);
});

test('one that needs more than all memory makes idle runners give way only where no other is needed', () => {
  const huge = appOf('h', { active: { revision: 1, bytes: 9 * GIB, gpus: 0 }, demand: { running: 0, queued: 1 } });
  const idle = appOf('i', { runners: [runner('i1')] });
  const busy = appOf('b', { demand: { running: 1, queued: 0 }, runners: [runner('b1')] });
  assert.equal(short(plan([huge, idle, busy], { budgetBytes: 4 * GIB })), ['wait h']);
  assert.equal(short(plan([huge, idle], { budgetBytes: 4 * GIB })), ['stop i1: evicted for h', 'wait h']);
});

test('a deployment that waits for memory is passed by others after ten minutes', () => {
  const candidate = { revision: 1, bytes: 3 * GIB, gpus: 0, strategy: 'rolling', since: 0 } as const;
  const large = appOf('l', { active: null, candidate });
  const busy = appOf('b', { demand: { running: 1, queued: 0 }, runners: [runner('b1', { bytes: 2 * GIB })] });
  const idle = appOf('i', { runners: [runner('i1')] });
  const second = (since: number) => appOf('s', { demand: { running: 0, queued: 1 }, tooFewSince: since });
  const at = (now: number) => short(plan([busy, idle, large, second(now)], { budgetBytes: 4 * GIB, now }));
  assert.equal(at(599_999), ['stop i1: evicted for l', 'wait l', 'wait s']);
  assert.equal(at(600_000), ['wait l', 'start s 1']);
});

test('a deployment that has waited for ten minutes still has idle runners give way where that is enough', () => {
  const candidate = { revision: 1, bytes: 2 * GIB, gpus: 0, strategy: 'rolling', since: 0 } as const;
  const large = appOf('l', { active: null, candidate });
  const busy = appOf('b', { demand: { running: 1, queued: 0 }, runners: [runner('b1', { bytes: 2 * GIB })] });
  const second = appOf('s', { demand: { running: 0, queued: 1 }, tooFewSince: 600_000 });
  const late = (...runners: PlannedRunner[]) =>
    short(plan([busy, appOf('i', { runners }), large, second], { budgetBytes: 4 * GIB, now: 600_000 }));
  assert.equal(late(runner('i1')), ['stop i1: evicted for l', 'wait l', 'wait s']);
  assert.equal(late(runner('i1', { state: 'leaving' })), ['wait l', 'wait s']);
});

/** A simulated cloud. Its runners and requests start and end over several rounds. */
class Day {
  readonly apps: PlannedApp[];
  readonly budgetBytes: number;
  now = 0;
  #ids = 0;

  constructor(private readonly random: () => number) {
    this.budgetBytes = (2 + this.#whole(8)) * GIB;
    this.apps = Array.from({ length: 2 + this.#whole(4) }, (_, index) => {
      const min = this.#whole(5) === 0 ? 1 : 0;
      const bytes = (1 + this.#whole(2)) * GIB;
      const scale = {
        min,
        max: 1 + this.#whole(3),
        buffer: this.#whole(2),
        keepAliveMs: 3000,
        delayMs: this.#whole(2) * 500,
      };
      return appOf(`app${index}`, { active: { revision: 1, bytes, gpus: 0 }, scale, slots: 1 + this.#whole(4) });
    });
  }

  #whole(count: number): number {
    return Math.floor(this.random() * count);
  }

  round(calls: boolean): void {
    this.now += 1000;
    this.apps.forEach((app, index) => {
      this.apps[index] = this.#live(app, calls);
    });
    const actions = decide(
      { apps: this.apps, budgetBytes: this.budgetBytes, gpus: 0, quotas: readQuotas([]) },
      this.now,
    );
    for (const action of actions) this.#check(action);
    for (const action of actions) this.#carryOut(action);
    const runners = this.apps.flatMap((app) => app.runners);
    const used = runners.reduce((sum, { bytes }) => sum + bytes, 0);
    assert.ok(used <= this.budgetBytes || runners.length === 1, `${used} of ${this.budgetBytes}`);
    for (const app of this.apps) assert.ok(activeRunners(app).length <= Math.max(app.scale.max, app.scale.min));
  }

  /** Requests come and go, runners come up, go down and crash, revisions are deployed and become active. */
  #live(app: PlannedApp, calls: boolean): PlannedApp {
    const change = calls && this.#whole(3) === 0;
    const demand = change
      ? { running: this.#whole(6), queued: this.#whole(3) }
      : calls
        ? app.demand
        : { running: 0, queued: 0 };
    const runners = app.runners.flatMap((each): PlannedRunner[] => {
      if (each.state === 'starting') return [{ ...each, state: this.#whole(2) === 0 ? 'ready' : 'starting' }];
      if (each.state === 'leaving') return this.#whole(2) === 0 ? [] : [each];
      return calls && this.#whole(40) === 0 ? [] : [each];
    });
    let { active, candidate } = app;
    const revision = active?.revision ?? 0;
    if (candidate === null && calls && this.#whole(15) === 0) {
      const strategy = this.#whole(2) === 0 ? 'rolling' : 'recreate';
      candidate = { revision: revision + 1, bytes: (1 + this.#whole(2)) * GIB, gpus: 0, strategy, since: this.now };
    }
    if (candidate !== null && runners.some((each) => each.state === 'ready' && each.revision === candidate?.revision)) {
      active = { revision: candidate.revision, bytes: candidate.bytes, gpus: 0 };
      candidate = null;
    }
    const next = { ...app, demand, runners, active, candidate, usedAt: demand.running > 0 ? this.now : app.usedAt };
    const surplus = activeRunners(next).length - desiredRunners(next);
    return {
      ...next,
      tooFewSince: surplus < 0 ? (app.tooFewSince ?? this.now) : null,
      tooManySince: surplus > 0 ? (app.tooManySince ?? this.now) : null,
    };
  }

  #check(action: Action): void {
    if (action.kind !== 'stop') return;
    const app = this.#app(action.app);
    const stopped = app.runners.find(({ id }) => id === action.runner);
    assert.ok(stopped !== undefined && stopped.state !== 'leaving', 'only runners that are there are stopped, once');
    if (stopped.revision !== app.active?.revision || app.candidate?.strategy === 'recreate') return;
    const left = activeRunners(app).length - 1;
    assert.ok(
      left >= Math.min(app.scale.max, Math.max(app.scale.min, neededRunners(app))),
      'one that is needed is stopped',
    );
  }

  #carryOut(action: Action): void {
    const index = this.apps.findIndex(({ id }) => id === action.app);
    const app = this.#app(action.app);
    if (action.kind === 'start') {
      const bytes = (action.revision === app.candidate?.revision ? app.candidate : app.active)?.bytes ?? 0;
      const added = runner(`r${this.#ids++}`, { revision: action.revision, state: 'starting', bytes });
      this.apps[index] = { ...app, runners: [...app.runners, added] };
    } else if (action.kind === 'stop') {
      const runners = app.runners.map((each) =>
        each.id === action.runner ? { ...each, state: 'leaving' as const } : each,
      );
      this.apps[index] = { ...app, runners };
    } else if (action.kind === 'refuse') {
      this.apps[index] = { ...app, candidate: null };
    }
  }

  #app(id: string): PlannedApp {
    return this.apps.find((each) => each.id === id) as PlannedApp;
  }
}

test('in 300 seeded days memory holds, nobody needed is stopped, and all comes to rest', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const day = new Day(seededRandom(seed));
    for (let round = 0; round < 120; round++) day.round(true);
    for (let round = 0; round < 120; round++) day.round(false);
    const fits =
      day.apps.reduce((sum, { scale, active }) => sum + scale.max * (active?.bytes ?? 0), 0) <= day.budgetBytes;
    // One that never fits waits until it has failed, which takes longer than these days.
    const [first] = day.apps.flatMap(({ candidate }) => candidate ?? []).sort((one, other) => one.since - other.since);
    const kept = day.apps.reduce((sum, { scale, active }) => sum + scale.min * (active?.bytes ?? 0), 0);
    assert.ok(first === undefined || kept + first.bytes > day.budgetBytes, `seed ${seed}: a deployment never ended`);
    for (const app of day.apps) {
      const rest = desiredRunners(app);
      const { length } = activeRunners(app);
      assert.ok(length <= rest, `seed ${seed}: ${app.name} keeps ${length} runners, and should have ${rest}`);
      if (fits) assert.is(length, rest, `seed ${seed}: ${app.name} lacks runners`);
    }
  }
});

test('in seeded days with memory for one, everybody who waits gets a turn when the others are done', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed);
    const day = new Day(random);
    for (let round = 0; round < 60; round++) day.round(true);
    const asks = day.apps.find(({ scale }) => scale.min === 0 && scale.buffer === 0);
    if (asks === undefined || day.apps.some(({ scale }) => scale.min > 0 || scale.buffer > 0)) continue;
    let served = false;
    for (let round = 0; round < 60 && !served; round++) {
      const index = day.apps.findIndex(({ id }) => id === asks.id);
      day.round(false);
      const app = day.apps[index] as PlannedApp;
      day.apps[index] = { ...app, demand: { running: 0, queued: 1 }, tooFewSince: app.tooFewSince ?? day.now };
      served = app.runners.some(({ state }) => state === 'ready');
      const actions = decide(
        { apps: day.apps, budgetBytes: day.budgetBytes, gpus: 0, quotas: readQuotas([]) },
        day.now,
      );
      if (actions.some((action) => action.kind === 'start' && action.app === asks.id)) served = true;
    }
    assert.ok(served, `seed ${seed}`);
  }
});

test.run();
