/** Calls of the library of strategies. */
import { callFor, path } from '../api.ts';
import type { Rule, RuleScript, Strategy, StrategyEntry } from '../shapes.ts';
import { language } from '../words/index.ts';
import { ruleAddress } from './engine.ts';
import type { Values } from './parameter-texts.ts';

const STRATEGIES = '/v3/library/strategies';

const addressOf = (id: string): string => `${STRATEGIES}${path`/${id}`}`;

/** The form of a strategy. */
export const strategyPage = (id: string): string => `#/new-rule/form/${encodeURIComponent(id)}`;

export const readStrategies = (): Promise<Strategy[]> => callFor('strategies', 'GET', STRATEGIES);

export const readStrategy = (id: string): Promise<StrategyEntry> => callFor('strategy', 'GET', addressOf(id));

/** The script that the parameters give; nothing is stored. */
export const strategyScript = (id: string, parameters: Values): Promise<RuleScript> =>
  callFor('script', 'POST', `${addressOf(id)}/script`, { parameters }, 'reads');

export const createStrategyRule = (id: string, slug: string, parameters: Values): Promise<Rule> =>
  callFor('rule', 'POST', `${addressOf(id)}/rule`, { slug, parameters });

export const updateParameters = ({ id }: Rule, parameters: Values): Promise<Rule> =>
  callFor('rule', 'POST', `${ruleAddress(id)}/update_parameters`, { parameters });

/** A text of the library in the language of the reader. */
export const inWords = (text: Strategy['name']): string => text[language];
