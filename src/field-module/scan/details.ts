/**
 * Facts that identify a unit beyond its names: registers that the scan asks for, and its SunSpec models. Only reads.
 */
import type { Limits } from '../../lib/limits.ts';
import type { ToModule } from '../../protocol/module.ts';
import type { ModbusAnswer, ModbusRequest } from '../field/index.ts';
import {
  type Finding,
  findingOf,
  isSunspecMarker,
  markerAt,
  modelHeadAt,
  modelOf,
  SUNSPEC_BASES,
} from './unit.ts';

/** Asks the unit that is examined. */
export type Ask = (request: ModbusRequest) => Promise<ModbusAnswer>;
type FieldLimits = Limits['field'];
type Order = Pick<ToModule & { type: 'scan' }, 'reads' | 'models'>;

const KINDS = {
  input: 'read_inputs',
  holding: 'read_holdings',
  coil: 'read_coils',
  discrete: 'read_discrete_inputs',
} as const;

export async function readDetails(
  ask: Ask,
  { reads, models }: Order,
  limits: FieldLimits,
): Promise<{ reads?: (number[] | null)[]; models?: number[] }> {
  const chain = models === true ? await modelsOf(ask, limits) : [];
  return {
    ...(reads && { reads: (await readAll(ask, reads, limits)).reads }),
    ...(chain.length > 0 && { models: chain }),
  };
}

/** Reads registers only, and reports what the answers say of the unit. */
export async function readOnly(
  ask: Ask,
  wanted: NonNullable<Order['reads']>,
  limits: FieldLimits,
): Promise<{ finding: Finding; reads: (number[] | null)[] }> {
  const { reads, heard } = await readAll(ask, wanted, limits);
  return { finding: findingOf(heard), reads };
}

/** A device that is silent about registers which it does not have is soon left alone. */
async function readAll(
  ask: Ask,
  reads: NonNullable<Order['reads']>,
  { scanSilentReads }: FieldLimits,
): Promise<{ reads: (number[] | null)[]; heard: ModbusAnswer[] }> {
  const heard: ModbusAnswer[] = [];
  const found: (number[] | null)[] = [];
  let silentInRow = 0;
  for (const { kind, start, count } of reads) {
    if (silentInRow >= scanSilentReads) {
      found.push(null);
      continue;
    }
    const answer = await ask({ kind: KINDS[kind], start, count });
    heard.push(answer);
    silentInRow = !answer.ok && answer.fault.kind === 'timeout' ? silentInRow + 1 : 0;
    found.push(answer.ok ? [...answer.values] : null);
  }
  return { reads: found, heard };
}

async function modelsOf(ask: Ask, { scanModels }: FieldLimits): Promise<number[]> {
  const models: number[] = [];
  for (const base of SUNSPEC_BASES) {
    const marker = await ask({ kind: 'read_holdings', ...markerAt(base) });
    if (!marker.ok || !isSunspecMarker(marker.values)) continue;
    let start = base + marker.values.length;
    while (models.length < scanModels) {
      const head = await ask({ kind: 'read_holdings', ...modelHeadAt(start) });
      const found = head.ok ? modelOf(head.values) : undefined;
      if (!found) break;
      models.push(found.model);
      start += found.registers;
    }
    return models;
  }
  return models;
}
