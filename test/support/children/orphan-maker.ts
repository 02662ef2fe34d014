/** A parent that starts a child program and is then killed: the child must not outlive it. */
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { createLog } from '../../../src/platform/log/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { Processes } from '../../../src/platform/processes/index.ts';

const clock = createSystemClock();
const log = createLog({ level: 'fatal', format: 'json', clock, write: () => undefined });
const program = new Processes({ clock, log, metrics: createMetrics() }).program({
  name: 'orphan',
  entry: `${import.meta.dirname}/obedient.ts`,
  protocolVersion: 1,
  settings: () => ({}),
  onRunning: () => process.stdout.write(`${program.processId}\n`),
  onPayload: () => undefined,
});
program.start();
