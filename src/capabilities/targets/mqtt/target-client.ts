/** A client of the broker of a target, with its address, login and certificates; and what both sinks of brokers share. */
import { MqttClient, MqttFailure, type MqttMessage } from '../../../platform/mqtt-client/index.ts';
import type { Device, Devices } from '../../devices/index.ts';
import type { Telemetry } from '../../telemetry/index.ts';
import { asTargetFailure, type MqttSettings, type TargetRecord } from '../model.ts';
import type { TargetParts } from '../parts.ts';

type Options = ConstructorParameters<typeof MqttClient>[0];

/** Dependencies of every sink of a broker. */
export interface MqttSinkParts {
  settings: MqttSettings;
  site: () => { name: string };
  devices: Pick<Devices, 'get' | 'all' | 'manifest' | 'connectivity' | 'events'>;
  telemetry: Pick<Telemetry, 'latest'>;
  /** True when a device, or an attribute of it, goes to the target. */
  includes: (device: Device, attribute?: string) => boolean;
}

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

/** Bytes of a packet besides topic and payload. */
const HEADER_BYTES = 8;

export const sizeOf = ({ topic, payload }: Pick<MqttMessage, 'topic' | 'payload'>): number =>
  Buffer.byteLength(topic) + Buffer.byteLength(payload) + HEADER_BYTES;

/** @throws TargetFailure where the broker failed */
export const asFailure = <Result>(work: Promise<Result>): Promise<Result> =>
  asTargetFailure(MqttFailure, work);
