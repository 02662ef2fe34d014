/** A worker thread for one dry run, which would keep rules on the same thread waiting. */
import { nextTurn } from '../../platform/clock/index.ts';
import { processorMs } from '../../platform/threads/index.ts';
import { hostScripts } from '#scripting/host';
import { dryRun } from './dry-run/dry-run.ts';
import type { DryRunTypes } from './thread-messages.ts';

hostScripts<DryRunTypes>(({ rule, period }, { clock, limits, shared, request, tell, tellSlice }) => {
  const run = dryRun({
    rule,
    period,
    site: shared,
    limits,
    clock,
    processorMs,
    nextTurn,
    ask: request,
    tell: (entry) => tell({ type: 'entry', entry }),
    onSlice: tellSlice,
    onFault: (text) => tell({ type: 'fault', text }),
  });
  void run.then((report) => tell({ type: 'report', report }));
  // A dry run gets no orders and ends with its thread.
  return { order: () => undefined, stop: () => undefined };
});
