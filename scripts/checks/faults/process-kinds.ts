/** Faults of processes: ended, stopped, hung, started twice, short of memory. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { STORE_ACTIVITIES, type StoreActivity } from '../world/store-activity.ts';
import type { Problem } from '../world/journal.ts';
import { programsCheck } from '../world/programs.ts';
import { createGatewayHome } from '../../support/gateway-process.ts';
import type { Box } from './box.ts';
import { broken, controlWorks, type FaultKind } from './kind.ts';

const SERVE_MS = { least: 50, most: 1_200 };
const START_KILL_MS_MAX = 1_200;
const ACTIVITY_TIMEOUT_MS = 12_000;
const ACTIVITY_POLL_MS = 2;
const ACTIVITY_KILL_MS_MAX = 40;
/** Longest time that a stop may take. */
const STOP_MS_MAX = 10_000;
/** To be tried again. */
const FAILURE = 1;
const SECOND_START_MS = 30_000;
/** The heap of a gateway that is short of memory. */
const SMALL_HEAP_MIB = 40;

export const PROCESS_KINDS: readonly FaultKind[] = [
  {
    name: 'kill',
    about: 'SIGKILL while it serves, at a random moment.',
    run: async (box) => {
      await box.clock.sleep(box.random.between(SERVE_MS.least, SERVE_MS.most));
      return killAndRestart(box);
    },
  },
  {
    name: 'kill-starting',
    about: 'SIGKILL while it starts, twice in a row.',
    run: async (box) => {
      await box.kill();
      for (let round = 0; round < 2; round++) {
        box.begin();
        await box.clock.sleep(box.random.between(50, START_KILL_MS_MAX));
        await box.kill();
      }
      await box.restart();
      return [];
    },
  },
  ...STORE_ACTIVITIES.map((activity): FaultKind => ({
    name: `kill-${activity}`,
    about: `SIGKILL while the telemetry store is at its ${activity}, with old telemetry coming in.`,
    run: (box) => killAtActivity(box, activity),
  })),
  {
    name: 'stop',
    about: 'SIGTERM at a random moment: ends within 10 s and with 0.',
    run: async (box) => {
      await box.clock.sleep(box.random.between(SERVE_MS.least, SERVE_MS.most));
      const { code, signal, tookMs } = await box.gateway.end('SIGTERM');
      await box.restart();
      return [
        ...(code === 0 ? [] : [broken(`the stop ended with ${code ?? signal}`)]),
        ...(tookMs > STOP_MS_MAX ? [broken(`the stop took ${tookMs.toFixed(0)} ms`)] : []),
      ];
    },
  },
  {
    name: 'hung-child',
    about:
      'Its child programs stand still: control goes on; it stops within 10 s, with 0, and leaves no child.',
    run: hungChildren,
  },
  {
    name: 'killed-child',
    about:
      'Its child programs are killed while rules and callers command: they come back, nothing runs twice.',
    run: (box) => killCommanding(box, 'programs'),
  },
  {
    name: 'kill-commanding',
    about:
      'SIGKILL while rules and callers command a device and a script: each has one end, nothing runs twice.',
    run: (box) => killCommanding(box, 'gateway'),
  },
  {
    name: 'second-start',
    about:
      'A second gateway on the same folder and other ports: ends with 1, says who is there, touches nothing.',
    run: secondStart,
  },
  {
    name: 'memory-limit',
    about:
      'Runs with a heap that is too small for it: whether it lives or ends, nothing acknowledged is lost.',
    run: async (box) => {
      await box.kill();
      box.begin([`--max-old-space-size=${SMALL_HEAP_MIB}`]);
      await box.clock.sleep(box.random.between(1_000, 4_000));
      return killAndRestart(box, true);
    },
  },
];

async function killAndRestart(box: Box, mayHaveEnded = false): Promise<Problem[]> {
  const { code, signal } = await box.kill();
  await box.restart();
  return signal === 'SIGKILL' || mayHaveEnded
    ? []
    : [broken(`the gateway ended by itself with code ${code}`)];
}

/** Resolves at the activity, or when it does not begin in time; a kill is a kill all the same. */
async function killAtActivity(box: Box, activity: StoreActivity): Promise<Problem[]> {
  const { clock, random } = box;
  const until = async (isSo: () => boolean): Promise<void> => {
    const deadlineMs = clock.monotonicMs() + ACTIVITY_TIMEOUT_MS;
    while (!isSo() && clock.monotonicMs() < deadlineMs) await clock.sleep(ACTIVITY_POLL_MS);
  };
  const enough = new AbortController();
  const written = box.historyImport.write(enough.signal);
  await until(() => box.storeActivity.present() === (activity === 'retention' ? 'roll-up' : activity));
  enough.abort();
  if (activity === 'retention') {
    // It is due once an hour, and at the start.
    await until(() => box.storeActivity.present() === undefined);
    await box.kill();
    box.begin();
    await until(() => box.storeActivity.present() === activity);
  }
  await clock.sleep(random.between(0, ACTIVITY_KILL_MS_MAX));
  const problems = await killAndRestart(box);
  await written;
  return problems;
}

async function hungChildren(box: Box): Promise<Problem[]> {
  const deadlineMs = box.clock.monotonicMs() + ACTIVITY_TIMEOUT_MS;
  while (childrenOf(box.gateway.pid).length === 0 && box.clock.monotonicMs() < deadlineMs)
    await box.clock.sleep(20);
  const children = childrenOf(box.gateway.pid);
  for (const child of children) process.kill(child, 'SIGSTOP');
  await box.rest();
  const problems = await controlWorks(box, 1);
  const { code, signal, tookMs } = await box.gateway.end('SIGTERM');
  const left = children.filter((child) => existsSync(`/proc/${child}`));
  for (const child of left) process.kill(child, 'SIGKILL');
  await box.restart();
  return [
    ...problems,
    ...(children.length === 0 ? [broken('no child program was running')] : []),
    ...(code === 0 ? [] : [broken(`the stop ended with ${code ?? signal}`)]),
    ...(tookMs > STOP_MS_MAX ? [broken(`the stop took ${tookMs.toFixed(0)} ms`)] : []),
    ...left.map((child) => broken(`child ${child} was left behind`)),
  ];
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '))
    .filter((child) => child !== '')
    .map(Number);
}

/** On a gateway of its own. */
function killCommanding({ clock, random, program }: Box, victim: 'programs' | 'gateway'): Promise<Problem[]> {
  const seed = random.integer(0, 2 ** 31);
  return programsCheck({
    kills: victim === 'gateway' ? 3 : 1,
    victim,
    seed,
    program,
    clock,
    say: () => undefined,
    killAfterMs: { min: 500, max: 1_500 },
  });
}

async function secondStart(box: Box): Promise<Problem[]> {
  const other = await createGatewayHome();
  try {
    const { code, output } = await runToEnd(box, {
      ...other.environment,
      GATEWAY_DATA_DIR: join(box.dataDir, '.'),
    });
    return [
      ...(code === FAILURE ? [] : [broken(`a second gateway on the folder ended with ${code}`)]),
      ...(output.includes(`process ${box.gateway.pid} `)
        ? []
        : [broken('the second gateway does not say who is there')]),
    ];
  } finally {
    other.remove();
  }
}

/** Runs a gateway that is expected to end by itself; one that does not is ended. */
async function runToEnd(
  box: Box,
  environment: Record<string, string>,
): Promise<{ code: number | string; output: string }> {
  const child = spawn(process.execPath, [...box.flags(), box.home.entries.main], {
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString('utf8')));
  const tooLong = box.clock.setTimer(SECOND_START_MS, () => child.kill('SIGKILL'));
  // The running gateway did not notice that it is the second one.
  const serving = box.clock.setRepeating(100, () => {
    if (output.includes('"message":"ready"')) child.kill('SIGKILL');
  });
  const code = await new Promise<number | string>((resolve) =>
    child.once('close', (exit, signal) => resolve(exit ?? `${signal}: it served or took too long`)),
  );
  tooLong.cancel();
  serving.cancel();
  return { code, output };
}
