/**
 * Outputs in a dry run: there are no other rules, so the script's request holds. Its command is noted when it changes,
 * and the safe one when the script asks no more.
 */
import { isDeepStrictEqual } from 'node:util';
import type { RecordedResults } from '../../../protocol/dry-run.ts';
import type { JsonValue } from '../../../protocol/telemetry.ts';

type Checked = RecordedResults['check_output'];
type Command = NonNullable<Checked['command']>;

interface DryOutput {
  deviceId: string;
  output: string;
  names: Set<string>;
  last: Command | undefined;
  safe: Command;
}

export class DryOutputs {
  readonly #outputs: DryOutput[] = [];
  readonly #note: (deviceId: string, command: Command) => void;

  constructor(note: (deviceId: string, command: Command) => void) {
    this.#note = note;
  }

  request(deviceId: string, { output, command, safe }: Checked): { holds: boolean } {
    if (!command || !safe) return { holds: false };
    const names = [command.name, safe.name];
    let found = names.map((name) => this.#find(deviceId, output, name)).find((one) => one !== undefined);
    if (!found) {
      found = { deviceId, output, names: new Set(), last: undefined, safe };
      this.#outputs.push(found);
    }
    for (const name of names) found.names.add(name);
    found.safe = safe;
    this.#set(found, command);
    return { holds: true };
  }

  release(deviceId: string, output: JsonValue, name: string): void {
    const found = this.#find(deviceId, output ?? '', name);
    if (found?.last) this.#set(found, found.safe);
  }

  #find(deviceId: string, output: JsonValue, name: string): DryOutput | undefined {
    return this.#outputs.find(
      (one) => one.deviceId === deviceId && one.output === output && one.names.has(name),
    );
  }

  #set(found: DryOutput, command: Command): void {
    if (isDeepStrictEqual(found.last, command)) return;
    found.last = command;
    this.#note(found.deviceId, command);
  }
}
