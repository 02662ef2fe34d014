/** Reads a strategy from the texts of its folder. */
import * as v from 'valibot';
import { parse } from 'yaml';
import { type Strategy, strategySchema } from './strategy.ts';

/** @throws Error for a file of another form: strategies come with the program */
export function loadStrategy(id: string, texts: { declaration: string; rule: string }): Strategy {
  return { ...v.parse(strategySchema, parse(texts.declaration)), id, rule: texts.rule };
}
