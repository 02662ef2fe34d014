/** What both stories in TypeScript have: the way to the gateway, and the device that the check plays. */
import { once } from 'node:events';
import { stdin, stdout } from 'node:process';

export const { GATEWAY = '', TOKEN = '', ZIP = '' } = process.env;
export const RULE_CODE = Buffer.from('log("hello")').toString('base64');

export function fail(reason: string): never {
  throw new Error(reason);
}

export function same(actual: unknown, expected: unknown): void {
  if (actual !== expected) fail(`${JSON.stringify(actual)} in place of ${JSON.stringify(expected)}`);
}

/** The check connects a device with this configuration, and answers once it has sent telemetry. */
export async function connectDevice(config: unknown): Promise<void> {
  stdout.write(`${JSON.stringify(config)}\n`);
  await once(stdin, 'data');
}
