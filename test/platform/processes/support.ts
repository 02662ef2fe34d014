/** A child program under supervision, on the test's clock. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Limits, LIMITS } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { type Payload, Processes, type ProgramOptions } from '../../../src/platform/processes/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { PROJECT_ROOT, recordingLog } from '../../support/workspace.ts';

export const CHILDREN = join(PROJECT_ROOT, 'test/support/children');
export const limits: Limits['processes'] = {
  ...LIMITS.processes,
  messageBytes: 1_000_000,
  queuedBytes: 4_000_000,
};

export function world(
  t: TestContext,
  options: Partial<ProgramOptions> = {},
  bounds: Limits['processes'] = limits,
) {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const metrics = createMetrics();
  const received: Payload[] = [];
  let hellos = 0;
  const program = new Processes({ clock, log, metrics, limits: bounds }).program({
    name: 'obedient',
    entry: join(CHILDREN, 'obedient.ts'),
    protocolVersion: 1,
    settings: () => ({ colour: 'green' }),
    onRunning: () => hellos++,
    onPayload: (payload) => received.push(payload),
    ...options,
  });
  t.after(async () => {
    const stopped = program.stop();
    await clock.advance(limits.stopMs);
    await clock.advance(limits.termMs);
    await stopped;
  });
  const runs = (): Promise<void> => until(() => program.state === 'running');
  /** Messages keep their order: when the echo is here, so are the answers before it. */
  const answered = async (): Promise<void> => {
    const count = received.length + 1;
    program.send('echo here');
    await until(() => received.length === count);
  };
  const ends = (): Promise<void> => until(() => program.state === 'waiting');
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^gateway_${name}{program="obedient"} (.*)$`, 'm').exec(await metrics.text())?.[1]);
  return { clock, lines, program, received, runs, answered, ends, metric, hellos: () => hellos };
}

export function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
