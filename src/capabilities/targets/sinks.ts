/** Opens the sink of a target. It connects when the first sample is sent. */
import { LIMITS } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import { DatedFiles } from '../../platform/files/index.ts';
import { HttpClient } from '../../platform/http-client/index.ts';
import type { Device } from '../devices/index.ts';
import { FolderSink } from './folder/folder-sink.ts';
import { InfluxdbSink } from './influxdb/influxdb-sink.ts';
import type { FolderSettings, InfluxdbSettings, MqttSettings, Sink, TargetRecord } from './model.ts';
import { willOf } from './mqtt/home-assistant.ts';
import { MqttSink, type RetainedTopics } from './mqtt/mqtt-sink.ts';
import { SparkplugSink } from './mqtt/sparkplug-sink.ts';
import { mqttClientOf } from './mqtt/target-client.ts';
import type { TargetParts } from './parts.ts';
import { SampleFilter } from './sample-filter.ts';

/** Characters of a target's id in file names. */
const LABEL_LENGTH = 8;

/** @param retained topics of an earlier sink of the same target, which this one continues with */
export function openSink(
  record: TargetRecord,
  parts: TargetParts,
  retained: RetainedTopics = new Map(),
): Sink {
  const { settings } = record;
  if (settings.kind === 'MQTT') return mqttSink(record, settings, parts, retained);
  return settings.kind === 'FOLDER'
    ? folderSink(record, settings, parts)
    : influxdbSink(record, settings, parts);
}

function folderSink(
  { id }: TargetRecord,
  settings: FolderSettings,
  { clock, limits, dataDir }: TargetParts,
): Sink {
  const { pieceBytes, openFilesMax } = limits;
  const pieces = new DatedFiles({
    folder: settings.path,
    dataDir,
    isMountExpected: settings.isMount,
    label: id.slice(0, LABEL_LENGTH),
    extension: settings.isCompressed ? '.csv.gz' : '.csv',
  });
  const monotonicMs = (): MonotonicMs => clock.monotonicMs();
  return new FolderSink({ settings, pieces, monotonicMs, pieceBytes, openFilesMax });
}

function influxdbSink(
  { secrets }: TargetRecord,
  settings: InfluxdbSettings,
  { clock, limits, pause }: TargetParts,
): Sink {
  const http = new HttpClient({
    clock,
    timeoutMs: limits.timeoutMs,
    answerMaxBytes: limits.answerBytes,
    caPem: settings.caPem ?? undefined,
    forgetsMs: limits.resendMs,
  });
  return new InfluxdbSink({
    settings,
    secret: secrets.secret,
    http,
    bodyMaxBytes: limits.bodyBytes,
    nowS: () => Math.floor(clock.wallMs() / 1_000),
    pause,
  });
}

function mqttSink(
  record: TargetRecord,
  settings: MqttSettings,
  parts: TargetParts,
  retained: RetainedTopics,
): Sink {
  const { limits, devices, site, clock } = parts;
  const { futureToleranceMs } = LIMITS.telemetry;
  const chosen = new SampleFilter(record.selection);
  const includes = (device: Device, attribute?: string): boolean =>
    attribute === undefined ? chosen.includesDevice(device) : chosen.includes(device, attribute);
  const { clientId } = settings;
  if (settings.form === 'SPARKPLUG_B')
    return new SparkplugSink({
      ...parts,
      ...limits.sparkplug,
      futureToleranceMs,
      settings,
      open: (more) => mqttClientOf(record, settings, parts, { clientId, ...more }),
      includes,
    });
  const client = mqttClientOf(record, settings, parts, {
    clientId,
    will: () => willOf(settings, site().name),
  });
  return new MqttSink({
    settings,
    client,
    site,
    devices,
    telemetry: parts.telemetry,
    includes,
    currentToS: () => Math.floor((clock.wallMs() + futureToleranceMs) / 1_000),
    inFlightMax: limits.messagesInFlight,
    retained,
  });
}
