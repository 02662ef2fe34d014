/** Values of entities: numbers, words for two states, bounds. */
import { type EntityBuilder, Refusal } from './entity-builder.ts';
import type { Argument } from './model.ts';
import { unitOf } from './units.ts';

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Undefined for a text that is no finite number. */
export function numberOf(text: string): number | undefined {
  const plain = text.trim();
  const value = Number(plain);
  return NUMBER.test(plain) && Number.isFinite(value) ? value : undefined;
}

/** The words that an entity has for on and off. */
export function wordsOf(
  entity: EntityBuilder,
  onKey: string,
  offKey: string,
  on: string,
  off: string,
): { on: string; off: string } {
  return { on: entity.text(onKey) ?? on, off: entity.text(offKey) ?? off };
}

/** @throws Refusal for bounds that contradict each other */
export function numericArgument(
  entity: EntityBuilder,
  keys: { min: string; max: string },
  [min, max]: readonly [number, number],
): Argument {
  const bounds = { min: entity.number(keys.min, min), max: entity.number(keys.max, max) };
  if (bounds.min > bounds.max) throw new Refusal(`its ${keys.min} is greater than its ${keys.max}`);
  const unit = entity.text('unit_of_measurement');
  const code = unit === undefined ? undefined : unitOf(unit);
  return {
    name: 'value',
    displayName: unit === undefined || unit === '' ? 'Value' : `Value in ${unit}`,
    type: 'float',
    ...bounds,
    ...(code !== undefined && { unit: code }),
  };
}
