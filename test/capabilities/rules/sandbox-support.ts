/** The gateway's side of the sandbox above real records, with the process played by the test. */
import type { TestContext } from 'node:test';
import { Emitter } from '../../../src/lib/emitter.ts';
import {
  type CallMethod,
  type CallRecordedMethod,
  RuleSandbox,
  type Rule,
} from '../../../src/capabilities/rules/index.ts';
import type { Site as SiteService } from '../../../src/capabilities/site/index.ts';
import { recordingLog } from '../../support/workspace.ts';
import { createStandInProgram, type StandInProgram } from './stand-in-program.ts';
import { type Site, startSite } from './support.ts';

export interface Sandboxed extends Site {
  program: StandInProgram;
  sandbox: RuleSandbox;
  setTimeZone: (timezone: string) => void;
  /** Requests that `callMethod` got, in order. */
  asked: string[];
  ends: () => number;
}

/** Started, not yet said hello; rules are handed to it. */
export async function startSandbox(
  t: TestContext,
  options: { callMethod?: CallMethod; callRecordedMethod?: CallRecordedMethod } = {},
): Promise<Sandboxed> {
  const site = await startSite(t);
  const { log } = recordingLog(site.clock);
  const program = createStandInProgram();
  const asked: string[] = [];
  let endedCount = 0;
  let timezone = 'Europe/Berlin';
  const events: SiteService['events'] = new Emitter(log);
  const sandbox = new RuleSandbox({
    processes: program.processes,
    entry: 'nowhere',
    log,
    metrics: site.metrics,
    logSettings: { level: 'info', format: 'json' },
    site: { get: () => ({ timezone, location: { latitude: 52.5, longitude: 13.4 } }) as never, events },
    devices: site.devices,
    telemetry: site.telemetry,
    callMethod: (rule, request) => {
      asked.push(`${rule.slug} ${request.method}`);
      return (options.callMethod ?? site.callMethod)(rule, request);
    },
    outputs: site.outputs,
    callRecordedMethod: options.callRecordedMethod ?? site.callRecordedMethod,
    clock: site.clock,
    appendLog: (ruleId, severity, message) => site.rules.logs.append(ruleId, severity, message),
    keepRuns: (ruleId, runs) => site.rules.keepRuns(ruleId, runs),
    onEnded: () => void endedCount++,
  });
  site.rules.remove([site.rule.id]);
  site.rules.start(sandbox);
  t.after(() => sandbox.stop());
  return Object.assign(site, {
    program,
    sandbox,
    asked,
    ends: () => endedCount,
    setTimeZone: (zone: string) => {
      timezone = zone;
      events.emit('site_updated', {} as never);
    },
  });
}

/** Says that the newest start of the rule runs; its generation. */
export function started({ program }: Sandboxed, rule: Rule): number {
  const generation = program.of('start').findLast((message) => message.rule.id === rule.id)?.generation ?? 0;
  program.say({ type: 'state', ruleId: rule.id, generation, state: 'STARTED' });
  return generation;
}

export const LIST_DEVICES = { method: 'list_devices', parameters: {} } as const;
/** Messages that it got, in a word and the rule each. */
export const namesOf = ({ program }: Sandboxed): string[] =>
  program.told.map((message) => {
    if (message.type === 'start') return `start ${message.rule.slug}`;
    return 'ruleId' in message ? `${message.type} ${message.ruleId.slice(-1)}` : message.type;
  });
