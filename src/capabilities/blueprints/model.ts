/** Blueprint records and built-in blueprints. Source: docs/interface/http.md#blueprints-and-profiles. */
import type { EpochMs } from '../../lib/time.ts';

/** The record of a blueprint, part of every answer. */
export interface Blueprint {
  id: string;
  createdAtMs: EpochMs;
}

/** Fixed ids of the built-in blueprints. */
export const BUILT_IN_IDS = {
  empty: '6d1f0e52-3a57-4c1b-9f0e-0b7c5d4e9a01',
  gateway: '6d1f0e52-3a57-4c1b-9f0e-0b7c5d4e9a02',
  batteryInverter: '6d1f0e52-3a57-4c1b-9f0e-0b7c5d4e9a03',
  communicationModule: '6d1f0e52-3a57-4c1b-9f0e-0b7c5d4e9a04',
} as const;

export interface BuiltInBlueprint {
  id: string;
  /** Folder below `built-in/blueprints`, and the name in `/v3/blueprints/enapter/{name}/latest`. */
  name: string;
}

export const BUILT_IN_BLUEPRINTS: readonly BuiltInBlueprint[] = [
  { id: BUILT_IN_IDS.empty, name: 'empty' },
  { id: BUILT_IN_IDS.gateway, name: 'gateway' },
  { id: BUILT_IN_IDS.batteryInverter, name: 'battery-inverter' },
  { id: BUILT_IN_IDS.communicationModule, name: 'communication-module' },
];

/** Namespace and tag under which built-in blueprints are found by name (docs/interface/http.md#blueprints-and-profiles). */
export const BUILT_IN_NAMESPACE = 'enapter';
export const BUILT_IN_TAG = 'latest';
