/** Recording what a device is asked and answers. */

export const fieldTrace = {
  trace: 'Field trace',
  traceHint:
    'Records what the device is asked and answers, for finding a fault. It ends by itself. Logins and passwords are not shown.',
  traceStart: 'Start for 15 minutes',
  traceStarting: 'The module has not confirmed it yet.',
  traceRuns: (until: string, count: number) => `Records until ${until}: ${count} so far.`,
  traceEnded: (at: string, count: number) => `Ended at ${at}: ${count} recorded.`,
  traceDropped: (count: number) => `${count} were left out, because there were too many.`,
  traceSave: 'Download the trace',
  traceImage: 'Download for the simulator',
  traceTook: (ms: number) => `${ms} ms`,
};
