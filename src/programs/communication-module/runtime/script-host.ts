/** What the libraries of a script are given to work with. */
import { type HostResult, LuaJson } from '../../../lua/index.ts';
import type { BlueprintFacts } from '../../../protocol/module.ts';
import type {
  CallResult,
  ConfigurationGroups,
  DeviceLogEntry,
  Surroundings,
  ThreadCall,
} from '../thread-messages.ts';

export interface ScriptHost {
  readonly channelId: string;
  readonly facts: BlueprintFacts;
  readonly groups: ConfigurationGroups;
  readonly surroundings: Surroundings;
  readonly ports: ReadonlyMap<string, string>;
  /** Of one message. */
  readonly messageBytes: number;
  epochS(): number;
  /** Carried out on the main thread. Never rejects. */
  call(request: ThreadCall): Promise<CallResult>;
  /** False: more than the device may send. */
  publish(subject: 'telemetry' | 'properties', text: string): boolean;
  log(entry: DeviceLogEntry): void;
  /** The script reads the values of these configuration groups from the device. */
  reads(groups: readonly string[]): void;
  /** Of the command that a task is busy with. */
  respond(id: string, state: 'log' | 'error', payloadText: string): void;
}

/** Results of a host function whose first value is missing: nothing, what went wrong, its number. */
export function failedResult(text: string, number: number): HostResult {
  return [undefined, text, BigInt(number)];
}

/** The results that a script gets of something that was carried out elsewhere. */
export function resultOf(result: CallResult): HostResult {
  switch (result.kind) {
    case 'values':
      return [new LuaJson(JSON.stringify(result.values))];
    case 'bytes':
      return [result.bytes];
    case 'done':
      return [true];
    case 'fault':
      return failedResult(result.fault.text, result.fault.number);
    case 'answer':
      return result.answer.error === undefined ? [true] : failedResult(result.answer.error, 7);
  }
}
