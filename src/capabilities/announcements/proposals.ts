/** The announcements of one guest, put together to devices. Pure. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../lib/limits.ts';
import { type Entity, readAnnouncement } from './announcement.ts';
import { interpret } from './entities.ts';
import type { Scope } from './entity-builder.ts';
import { manifestOf, withProfileUnits } from './manifest.ts';
import type { Proposal, Reading } from './model.ts';

/** A device that announced itself, with the manifest that it gets. */
export interface Announced extends Omit<Proposal, 'state' | 'deviceId'> {
  manifest: string;
}

const TEXT_LENGTH = 100;

/** @param announcements by their topics */
export function announcedDevices(
  guestId: string,
  announcements: ReadonlyMap<string, string>,
  scope: Scope,
): Announced[] {
  const byKey = new Map<string, Entity[]>();
  const problems = new Map<string, string[]>();
  for (const [topic, payload] of [...announcements].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { entities, problem } = readAnnouncement(topic, payload);
    if (problem !== undefined) problems.set(topic, [problem]);
    for (const entity of entities) byKey.getOrInsertComputed(entity.deviceKey, () => []).push(entity);
  }
  const devices = [...byKey].map(([key, entities]) => announcedOf(guestId, key, entities, scope));
  return [...devices, ...[...problems].map(([topic, leftOut]) => unreadable(guestId, topic, leftOut))];
}

function announcedOf(guestId: string, key: string, all: readonly Entity[], scope: Scope): Announced {
  const { entities: most } = LIMITS.mqttGuests;
  const entities = all.slice(0, most);
  const interpreted = interpret(entities, scope);
  if (all.length > most)
    interpreted.leftOut.push(`It announced more than ${most} entities: the others are left out.`);
  const { attributes, factors } = withProfileUnits(interpreted.attributes);
  const readings = interpreted.readings.map((reading) => multiplied(reading, factors.get(reading.attribute)));
  const fact = (name: string): string | undefined => factOf(entities, name);
  const described = {
    ...interpreted,
    attributes,
    readings,
    name: fact('name') ?? key.slice(0, TEXT_LENGTH),
    manufacturer: fact('manufacturer'),
    model: fact('model') ?? fact('model_id'),
    softwareVersion: fact('sw_version'),
  };
  return { id: idOf(guestId, key), guestId, ...described, manifest: manifestOf(described) };
}

/** A proposal that is only there to say why there is none. */
function unreadable(guestId: string, topic: string, leftOut: string[]): Announced {
  const nothing = { attributes: [], readings: [], commands: [], availabilities: [], leftOut };
  const facts = { manufacturer: undefined, model: undefined, softwareVersion: undefined };
  return { id: idOf(guestId, topic), guestId, name: topic, ...facts, ...nothing, manifest: '' };
}

/** The first answer to a question about the device among its announcements. */
function factOf(entities: readonly Entity[], name: string): string | undefined {
  for (const { device } of entities) {
    const value = device[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, TEXT_LENGTH);
  }
  return undefined;
}

function multiplied(reading: Reading, factor: number | undefined): Reading {
  if (factor === undefined) return reading;
  const read = (payload: string) => {
    const value = reading.read(payload);
    // Without the digits that a product of decimal fractions adds.
    return typeof value === 'number' ? Number((value * factor).toPrecision(12)) : undefined;
  };
  return { ...reading, read };
}

/** The same for the same device of the same account. */
function idOf(guestId: string, key: string): string {
  return createHash('sha256').update(`${guestId}\n${key}`).digest('hex').slice(0, 32);
}
