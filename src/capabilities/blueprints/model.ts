import type { CompiledManifest } from './manifest.ts';

export interface Blueprint {
  id: string;
  createdAtMs: number;
}

/** What other capabilities ask of blueprints. */
export interface Blueprints {
  /** The record; undefined when there is none of this id. */
  get(id: string): Blueprint | undefined;
  /** @throws GatewayError blueprint_not_found (404) */
  require(id: string): Blueprint;
  /** The compiled manifest, shared and frozen: the same object as long as the blueprint exists. @throws blueprint_not_found */
  manifest(id: string): CompiledManifest;
  /** Ids of the built-in blueprints. */
  readonly builtIn: { empty: string; gateway: string; batteryInverter: string };
}
