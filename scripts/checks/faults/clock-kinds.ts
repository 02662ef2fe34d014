/** Faults of the wall clock: the real gateway gets another one while it runs and over a restart. */
import type { Problem } from '../world/journal.ts';
import type { Box } from './box.ts';
import { controlWorks, type FaultKind, telemetryFlows } from './kind.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365.25 * 86_400_000;
/** Longer than the gateway takes to notice a step. */
const NOTICE_MS = 1_500;

export const CLOCK_KINDS: readonly FaultKind[] = [
  {
    name: 'clock-ahead',
    about:
      'The clock jumps ahead by hours to years, over a restart or not, and back: control works, nothing is deleted.',
    run: (box) => {
      const { random } = box;
      const aheadMs = random.chance(0.5) ? random.between(1, 100) * HOUR_MS : random.between(1, 40) * YEAR_MS;
      return withClock(box, aheadMs);
    },
  },
  {
    name: 'clock-behind',
    about: 'The clock jumps back by seconds to days and forth again.',
    run: (box) => withClock(box, -box.random.pick([10_000, HOUR_MS, 26 * HOUR_MS, 40 * 24 * HOUR_MS])),
  },
  {
    name: 'clock-dead',
    about: 'The clock starts in 1970, as on a box without a battery, and is set later.',
    run: (box) => withClock(box, 30_000 - box.clock.wallMs(), true),
  },
];

/** Devices are silent meanwhile: their own stamps would not fit, and what becomes of those is no matter of loss. */
async function withClock(box: Box, offsetMs: number, mustRestart = false): Promise<Problem[]> {
  await box.rest();
  box.mute(true);
  await box.clock.sleep(NOTICE_MS);
  try {
    const over = mustRestart || box.random.chance(0.5);
    if (over) await box.kill();
    await box.set({ clockOffsetMs: Math.round(offsetMs) });
    if (over) await box.restart();
    else await box.clock.sleep(NOTICE_MS);
    const problems = await controlWorks(box, 2);
    const backOver = box.random.chance(0.3);
    if (backOver) await box.kill();
    await box.set({ clockOffsetMs: 0 });
    if (backOver) await box.restart();
    else await box.clock.sleep(NOTICE_MS);
    problems.push(...(await controlWorks(box, 1)));
    // What came by the other clock, before a restart, has no age any more: new values take its place.
    box.mute(false);
    return [...problems, ...(await telemetryFlows(box))];
  } finally {
    box.mute(false);
  }
}
