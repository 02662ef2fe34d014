/** A client of the broker that a target names, with what it says of addresses, logins and certificates. */
import { MqttClient, MqttFailure } from '../../../platform/mqtt-client/index.ts';
import { type MqttSettings, TargetFailure, type TargetRecord } from '../model.ts';
import type { TargetParts } from '../parts.ts';

type Options = ConstructorParameters<typeof MqttClient>[0];

export function mqttClientOf(
  { secrets }: Pick<TargetRecord, 'secrets'>,
  settings: MqttSettings,
  { clock, limits }: TargetParts,
  more: Pick<Options, 'clientId' | 'will' | 'onMessage' | 'isSessionKept'>,
): MqttClient {
  return new MqttClient({
    clock,
    url: new URL(settings.url),
    username: settings.username ?? undefined,
    password: secrets.secret,
    caPem: settings.caPem ?? undefined,
    certificatePem: settings.certificatePem ?? undefined,
    privateKeyPem: secrets.privateKeyPem,
    timeoutMs: limits.timeoutMs,
    ...more,
  });
}

/** @throws TargetFailure where the broker failed */
export async function asFailure<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof MqttFailure) throw new TargetFailure(error.message, { cause: error });
    throw error;
  }
}
