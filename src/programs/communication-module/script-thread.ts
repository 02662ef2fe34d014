/** A thread that runs scripts of devices, up to a few dozen, each in a Lua state of its own. */
import { randomBytes } from 'node:crypto';
import { LIMITS } from '../../lib/limits.ts';
import { Rota, Scripts } from '../../lua/index.ts';
import { createSystemClock, nextTurn } from '../../platform/clock/index.ts';
import { connectThread } from '../../platform/threads/index.ts';
import { type DeviceScript, startDeviceScript } from './runtime/device-script.ts';
import type { CallResult, FromThread, ThreadData, ToThread } from './thread-messages.ts';

const COUNT = 0;
const SEAT = 1;

const port = connectThread<ThreadData, ToThread, FromThread>();
const clock = createSystemClock();
const watch = new Int32Array(port.data.watch);
const ports = new Map(Object.entries(port.data.ports));
const running = new Map<number, DeviceScript>();
/** Calls on the main thread that have no answer yet. */
const open = new Map<number, (result: CallResult) => void>();
let { surroundings } = port.data;
let lastCall = 0;
let starting = 0;

function createSeed(random = (): Buffer => randomBytes(16)): [bigint, bigint] {
  const bytes = random();
  return [bytes.readBigInt64LE(0), bytes.readBigInt64LE(8)];
}

/** Number of the script whose seat of the rota it is. */
const seatNumbers = new Map<number, number>();
const rota = new Rota({
  clock,
  nextTurn,
  limits: LIMITS.lua,
  onSlice: (seat) => {
    Atomics.store(watch, SEAT, seatNumbers.get(seat) ?? 0);
    Atomics.add(watch, COUNT, 1);
  },
});
const scripts = new Scripts({
  clock,
  monotonicMs: () => clock.monotonicMs(),
  rota,
  limits: LIMITS.lua,
  seed: () => createSeed(),
});

function start(message: ToThread & { kind: 'start' }): void {
  const { seat } = message;
  // The rota numbers its seats in the order in which scripts are made.
  seatNumbers.set(++starting, seat);
  running.set(
    seat,
    startDeviceScript({
      start: message,
      scripts,
      clock,
      limits: LIMITS,
      surroundings: () => surroundings,
      ports,
      post: (posted) => {
        if (posted.kind === 'failed') running.delete(seat);
        port.post({ ...posted, seat });
      },
      call: (request) =>
        new Promise((resolve) => {
          lastCall += 1;
          open.set(lastCall, resolve);
          port.post({ kind: 'call', seat, call: lastCall, request });
        }),
    }),
  );
}

function handle(message: ToThread): void {
  switch (message.kind) {
    case 'start':
      return start(message);
    case 'stop':
      running.get(message.seat)?.close();
      running.delete(message.seat);
      return;
    case 'command':
      return running.get(message.seat)?.command(message.id, message.name, message.argumentsText);
    case 'configuration':
      return running.get(message.seat)?.configure(message.groups, message.changed);
    case 'check':
      return running.get(message.seat)?.check(message.id, message.group, message.values);
    case 'read':
      return running.get(message.seat)?.read(message.id, message.group);
    case 'surroundings': {
      const wasConnected = surroundings.isConnected;
      ({ surroundings } = message);
      if (wasConnected !== surroundings.isConnected)
        for (const script of running.values()) script.connectionChanged(surroundings.isConnected);
      return;
    }
    case 'answer':
      open.get(message.call)?.(message.result);
      open.delete(message.call);
  }
}

port.onMessage(handle);
