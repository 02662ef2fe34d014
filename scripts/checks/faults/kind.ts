/** What a kind of fault is. */
import type { Problem } from '../world/journal.ts';
import type { Box } from './box.ts';

export interface FaultKind {
  name: string;
  /** What is done, and what must hold beyond that nothing acknowledged is lost, doubled or forgotten. */
  about: string;
  /** Needs a disk of its own, so root and loop devices. */
  needsDisk?: boolean;
  /**
   * People are at work when it begins. Afterwards a gateway runs that everything is read back from; what was wrong by
   * itself is returned.
   */
  run: (box: Box) => Promise<Problem[]>;
}

/** Within this after a fault is over, telemetry is acknowledged. */
const RECOVERY_MS_MAX = 30_000;
const POLL_MS = 50;

/** The gateway must not do by itself what it did. */
export const broken = (item: string): Problem => ({ kind: 'stop', item });

/** Control must work whatever history, disk or clock do: every kind of change, a few times. */
export async function controlWorks(box: Box, rounds: number): Promise<Problem[]> {
  const { people } = box;
  const before = people.refusals.length;
  let acknowledged = 0;
  for (let round = 0; round < rounds; round++) acknowledged += await people.actAll();
  const refused = people.refusals.slice(before);
  if (refused.length > 0) return refused.map((refusal) => broken(`control refused: ${refusal}`));
  return acknowledged > 0 ? [] : [broken('no change was acknowledged')];
}

/** Every device has telemetry acknowledged from now on. */
export async function telemetryFlows(box: Box): Promise<Problem[]> {
  const counts = (): number[] => box.world.actors.map(({ samples }) => samples.acknowledged().length);
  const before = counts();
  const deadlineMs = box.clock.monotonicMs() + RECOVERY_MS_MAX;
  while (counts().some((count, index) => count === before[index])) {
    if (box.clock.monotonicMs() > deadlineMs) return [broken('telemetry is not acknowledged again in time')];
    await box.clock.sleep(POLL_MS);
  }
  return [];
}
