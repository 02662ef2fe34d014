/** A child program that logs a given number of lines, and reports how many bytes of them wait. */
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { createStreamLog } from '../../../src/platform/log/index.ts';

const clock = createSystemClock();
const log = createStreamLog({ level: 'info', format: 'json', clock, stream: process.stdout });

process.on('message', (lines: number) => {
  for (let line = 0; line < lines; line++) log.info('spoken', { text: 'x'.repeat(1_000) });
  process.send?.(process.stdout.writableLength);
});
process.on('disconnect', () => process.exit());
