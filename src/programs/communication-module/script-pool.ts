/**
 * The threads that run scripts. A script that is stuck where no hook reaches, inside of C, is ended by ending
 * its thread; the scripts beside it are told and start again at once.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Thread } from '../../platform/threads/index.ts';
import type { Calls } from './calls.ts';
import type {
  CallResult,
  FromThread,
  ScriptStart,
  Surroundings,
  ThreadData,
  ToThread,
} from './thread-messages.ts';

type Posted = Extract<ToThread, { kind: 'command' | 'configuration' | 'check' | 'read' }>;
type WithoutSeat<Message> = Message extends unknown ? Omit<Message, 'seat'> : never;

/** One run of one script. */
export interface ScriptSeat {
  post(message: WithoutSeat<Posted>): void;
  /** Ends it; no further events. */
  stop(): void;
}

export interface ScriptEvents {
  onMessage: (message: FromThread) => void;
  /** Its thread ended. `isCulprit`: because of this script. */
  onThreadLost: (isCulprit: boolean, message: string) => void;
}

export interface ScriptPool {
  /** `isAlone`: in a thread of its own, because it has taken one down before. */
  start(script: Omit<ScriptStart, 'seat'>, events: ScriptEvents, isAlone: boolean): ScriptSeat;
  /** Tells every thread. */
  surround(surroundings: Surroundings): void;
  stop(): Promise<void>;
}

export interface ScriptPoolOptions {
  clock: Clock;
  limits: Pick<Limits['module'], 'scriptsPerThread' | 'threadHeapMib' | 'threadYoungHeapMib'>;
  watchLimits: Pick<Limits['lua'], 'stuckMs' | 'watchIntervalMs'>;
  calls: Calls;
  surroundings: Surroundings;
  /** Device file of each serial port by its name. */
  ports: Readonly<Record<string, string>>;
  /** Something of ours failed; the script is told so, and nothing else stops. */
  onFault: (error: unknown) => void;
  startThread: (options: {
    data: ThreadData;
    heapMaxMib: number;
    youngHeapMaxMib: number;
    onMessage: (message: unknown) => void;
    onExit: (error: Error | undefined) => void;
  }) => Thread;
}

interface Member {
  thread: Thread;
  seats: Map<number, ScriptEvents>;
  watch: Int32Array;
  /** The count of slices when it was looked at last, and since when it has been the same. */
  seenCount: number;
  sinceMs: number;
  culprit: { seat: number; message: string } | undefined;
  /** Made for one script. */
  isForOne: boolean;
}

const COUNT = 0;
const SEAT = 1;

export function createScriptPool(options: ScriptPoolOptions): ScriptPool {
  const { clock, limits, calls } = options;
  const members = new Set<Member>();
  let surroundings = options.surroundings;
  let lastSeat = 0;
  let isStopping = false;
  let watchTimer: Timer | undefined;

  function startMember(isForOne: boolean): Member {
    const watch = new SharedArrayBuffer(8);
    const member: Member = {
      thread: options.startThread({
        data: { surroundings, ports: options.ports, watch },
        heapMaxMib: limits.threadHeapMib,
        youngHeapMaxMib: limits.threadYoungHeapMib,
        onMessage: (message) => receive(member, message as FromThread),
        onExit: (error) => lose(member, error),
      }),
      seats: new Map(),
      watch: new Int32Array(watch),
      seenCount: 0,
      sinceMs: clock.monotonicMs(),
      culprit: undefined,
      isForOne,
    };
    members.add(member);
    watchTimer ??= clock.setRepeating(options.watchLimits.watchIntervalMs, look);
    return member;
  }

  /** Ends the threads whose slice has lasted too long. */
  function look(): void {
    const nowMs = clock.monotonicMs();
    for (const member of members) {
      const count = Atomics.load(member.watch, COUNT);
      if (count % 2 === 0 || count !== member.seenCount) {
        member.seenCount = count;
        member.sinceMs = nowMs;
      } else if (nowMs - member.sinceMs >= options.watchLimits.stuckMs && member.culprit === undefined) {
        member.culprit = { seat: Atomics.load(member.watch, SEAT), message: 'execution time exceeded' };
        void member.thread.terminate();
      }
    }
  }

  function receive(member: Member, message: FromThread): void {
    // What comes after the end of a run is nobody's.
    const events = member.seats.get(message.seat);
    if (events === undefined) return;
    if (message.kind === 'call') {
      const answer = (result: CallResult): void => {
        if (member.seats.has(message.seat)) post(member, { kind: 'answer', call: message.call, result });
      };
      calls.carryOut(message.seat, message.request).then(answer, (error: unknown) => {
        options.onFault(error);
        answer({ kind: 'fault', fault: { text: 'internal fault', number: 7 } });
      });
      return;
    }
    if (message.kind === 'failed') forget(member, message.seat);
    events.onMessage(message);
  }

  function forget(member: Member, seat: number): void {
    member.seats.delete(seat);
    calls.release(seat);
    if (member.seats.size > 0 || (members.size === 1 && !member.isForOne)) return;
    // Scripts come and go; a thread without any is not kept.
    members.delete(member);
    void member.thread.terminate();
  }

  function lose(member: Member, error: Error | undefined): void {
    if (!members.delete(member) || isStopping) return;
    const { culprit, watch } = member;
    const lost = [...member.seats];
    member.seats.clear();
    for (const [seat] of lost) calls.release(seat);
    // In the middle of a slice it is clear whose it was; else nobody knows, and all of them pause.
    const blamed = Atomics.load(watch, COUNT) % 2 === 1 ? Atomics.load(watch, SEAT) : culprit?.seat;
    const why = culprit?.message ?? `its thread ended: ${error?.message ?? 'without a reason'}`;
    for (const [seat, events] of lost)
      if (blamed === undefined || seat === blamed) events.onThreadLost(true, why);
      else events.onThreadLost(false, 'a script beside it was stuck and its thread was ended');
  }

  const post = (member: Member, message: ToThread): void => member.thread.post(message);

  return {
    start: (script, events, isAlone) => {
      const seat = ++lastSeat;
      const hasRoom = ({ seats, culprit, isForOne }: Member): boolean =>
        !isForOne && culprit === undefined && seats.size < limits.scriptsPerThread;
      const member = (isAlone ? undefined : [...members].find(hasRoom)) ?? startMember(isAlone);
      member.seats.set(seat, events);
      post(member, { kind: 'start', seat, ...script });
      return {
        post: (message) => {
          if (member.seats.has(seat)) post(member, { ...message, seat });
        },
        stop: () => {
          if (!member.seats.has(seat)) return;
          post(member, { kind: 'stop', seat });
          forget(member, seat);
        },
      };
    },
    surround: (next) => {
      surroundings = next;
      for (const member of members) post(member, { kind: 'surroundings', surroundings: next });
    },
    stop: async () => {
      isStopping = true;
      watchTimer?.cancel();
      await Promise.all([...members].map(({ thread }) => thread.terminate()));
      members.clear();
    },
  };
}
