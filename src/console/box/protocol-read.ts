/** Content of a commissioning protocol, read from the gateway once: it is a record of one moment. */
import { call, callFor, callForList, path, sentencesOf } from '../api.ts';
import { attributeTitle, momentText, showValue } from '../format.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { askManifests, manifestOf } from '../manifests.ts';
import { mainValues } from '../main-values.ts';
import { translatedManifest, isOfBox } from '../translated-manifest.ts';
import { givenTexts, stateText } from '../parts/executions.tsx';
import { may } from '../session.ts';
import { loadSite } from '../site-name.ts';
import type {
  BackupPlan,
  Blueprint,
  ConfigurationGroup,
  Device,
  DeviceDocument,
  Execution,
  Health,
  LatestValue,
  Manifest,
  Target,
  User,
} from '../shapes.ts';
import { say } from '../words/later.ts';

/** A name and its value, as they are printed. */
export interface Line {
  title: string;
  text: string;
}

/** All that the protocol says of one device. */
export interface ProtocolDevice {
  device: Device;
  manifest: Manifest;
  blueprint: Blueprint | undefined;
  /** The device's own facts: maker, model, serial number. */
  properties: Line[];
  /** Settings that differ from the default of the blueprint. */
  settings: Line[];
  /** Its main values as they were last measured. */
  values: Line[];
  /** Names of its photos and documents. */
  documents: string[];
  /** Commands that were sent to it, and how the last execution of each ended. */
  tests: Line[];
}

export interface Protocol {
  atMs: number;
  version: string;
  devices: ProtocolDevice[];
  targets: Target[];
  plan: BackupPlan;
  /** Undefined: the reader's role may not list them. */
  users: User[] | undefined;
}

/** Newest executions that are looked through for tests. */
const EXECUTIONS_MAX = 200;
/** Devices in one request, so that its address stays short. */
const DEVICES_PER_QUESTION = 20;
const PARTS = 'properties,connectivity,communication,raised_alert_names,room,notes';

/** @param onProgress is called with the devices that were read so far @throws ApiError, NoAnswer */
export async function readProtocol(onProgress: (read: number, all: number) => void): Promise<Protocol> {
  const [, health, { items: found }, { items: blueprints }, { items: executions }, targets, plan, users] =
    await Promise.all([
      loadSite(),
      call<Health>('GET', '/healthz'),
      callForList<Device>(`/v3/devices?expand=${PARTS}`, 'devices'),
      callForList<Blueprint>('/v3/blueprints', 'blueprints'),
      callForList<Execution>(
        '/v3/site/commands/executions?expand=log&retention=ALL&order=CREATED_AT_DESC',
        'executions',
        EXECUTIONS_MAX,
      ),
      callFor<Target[]>('targets', 'GET', '/v3/targets'),
      callFor<BackupPlan>('backup_plan', 'GET', '/v3/backup/plan'),
      may('INSTALLER') ? callFor<User[]>('users', 'GET', '/v3/auth/users') : undefined,
    ]);
  // Devices come first: the box and its modules end the list.
  const devices = [...found.filter((one) => !isOfBox(one)), ...found.filter(isOfBox)];
  askManifests(devices);
  const manifests = await Promise.all(
    devices.map(async (device) => translatedManifest(await manifestOf(device), device)),
  );
  const latest = await readLatest(devices, manifests);
  const read: ProtocolDevice[] = [];
  for (const [index, device] of devices.entries()) {
    const manifest = manifests[index] as Manifest;
    onProgress(read.length, devices.length);
    read.push({
      device,
      manifest,
      blueprint: blueprints.find(({ id }) => id === device.blueprint_id),
      properties: propertiesOf(device, manifest),
      settings: await readSettings(device, manifest),
      documents: await readDocuments(device),
      values: valuesOf(latest[device.id] ?? {}, manifest),
      tests: testsOf(
        executions.filter(({ device_id: id }) => id === device.id),
        manifest,
      ),
    });
  }
  return { atMs: gatewayNowMs(), version: health.version, devices: read, targets, plan, users };
}

async function readDocuments({ id }: Device): Promise<string[]> {
  const { items } = await callForList<DeviceDocument>(path`/v3/devices/${id}/documents`, 'documents');
  return items.map(({ name }) => name);
}

function propertiesOf({ properties = {} }: Device, manifest: Manifest): Line[] {
  return Object.entries(manifest.properties).flatMap(([name, attribute]) => {
    const value = properties[name];
    if (value === undefined || value === null || value === '') return [];
    return {
      title: attributeTitle(name, attribute),
      text: textOf(showValue(value, attribute, manifest, name)),
    };
  });
}

const textOf = ({ text, unit }: { text: string; unit: string }): string =>
  unit === '' ? text : `${text} ${unit}`;

/** Names that say most of a device: the state in a word and the main numbers. */
function namesOf(manifest: Manifest): string[] {
  const { state, numbers } = mainValues(manifest);
  return [...(state === undefined ? [] : [state]), ...numbers];
}

type Latest = Record<string, LatestValue>;

async function readLatest(
  devices: readonly Device[],
  manifests: readonly Manifest[],
): Promise<Record<string, Latest>> {
  const wanted = devices
    .map(({ id }, index) => [`devices[${id}]`, namesOf(manifests[index] as Manifest).join()])
    .filter(([, names]) => names !== '');
  const found: Record<string, Latest> = {};
  for (let from = 0; from < wanted.length; from += DEVICES_PER_QUESTION) {
    const question = new URLSearchParams(wanted.slice(from, from + DEVICES_PER_QUESTION));
    question.set('relevance_interval', '1d');
    const address = `/v3/telemetry/latest?${question}`;
    Object.assign(found, await callFor<Record<string, Latest>>('telemetry', 'GET', address));
  }
  return found;
}

function valuesOf(latest: Latest, manifest: Manifest): Line[] {
  return namesOf(manifest).flatMap((name) => {
    const known = latest[name];
    if (!known || !('value' in known)) return [];
    const attribute = manifest.telemetry[name];
    return {
      title: attributeTitle(name, attribute),
      text: textOf(showValue(known.value, attribute, manifest, name)),
    };
  });
}

/** A group that cannot be read, as of a device that does not answer, has the error in its place. */
async function readSettings({ id }: Device, manifest: Manifest): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [name, group] of Object.entries(manifest.configuration)) {
    if (!may(group.access_level)) continue;
    const address = path`/v3/devices/${id}/configuration/${name}`;
    try {
      lines.push(...changedOf(group, await callFor('configuration', 'GET', address), manifest));
    } catch (error) {
      lines.push({ title: group.display_name, text: sentencesOf(error).join(' ') });
    }
  }
  return lines;
}

/** Secrets are never printed, not even that they are set. */
function changedOf({ parameters }: ConfigurationGroup, stored: Record<string, unknown>, manifest: Manifest) {
  return Object.entries(parameters).flatMap(([name, parameter]): Line[] => {
    const value = stored[name];
    if (value === undefined || value === null || parameter.sensitive === true) return [];
    if (JSON.stringify(value) === JSON.stringify(parameter.default)) return [];
    const attribute = { ...parameter, access_level: 'readonly' as const, implements: [], aliases: [] };
    return [{ title: parameter.display_name, text: textOf(showValue(value, attribute, manifest, name)) }];
  });
}

/** The newest execution of each command. */
function testsOf(executions: readonly Execution[], manifest: Manifest): Line[] {
  const tests = new Map<string, Line>();
  for (const execution of executions) {
    const { manifest_name: name } = execution.request;
    if (tests.has(name)) continue;
    const given = givenTexts(execution, manifest);
    tests.set(name, {
      title: `${manifest.commands[name]?.display_name ?? name}${given.length > 0 ? ` (${given.join(', ')})` : ''}`,
      text: `${stateText(execution)}, ${momentText(execution.created_at)}`,
    });
  }
  return [...tests.values()];
}

/** `Battery, version 2` */
export function blueprintText({ blueprint, manifest }: ProtocolDevice): string {
  return blueprint
    ? say.protocol.blueprintVersion(manifest.display_name, blueprint.version)
    : manifest.display_name;
}
