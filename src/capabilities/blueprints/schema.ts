/** The blueprint as it stands on the wire (http-contract.md section 8). */
import { formatTimestamp } from '../../lib/timestamp.ts';
import type { Blueprint } from './model.ts';

export interface WireBlueprint {
  id: string;
  created_at: string;
}

export function toWire(blueprint: Blueprint): WireBlueprint {
  return { id: blueprint.id, created_at: formatTimestamp(blueprint.createdAtMs) };
}
