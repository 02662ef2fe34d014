/** The script of a rule that is made from a strategy: its parameters, what all strategies share, and its own part. */
import { luaText } from '../compile/lua-text.ts';
import type { Strategy } from './strategy.ts';

/** Values by parameter, in the form that scripts read. */
export type ScriptValues = Parameters<typeof luaText>[0];

/** Lua text in runtime V3. @param shared text of `strategies/shared.lua` */
export function strategyScript(
  { id, about, rule }: Strategy,
  values: Record<string, ScriptValues>,
  shared: string,
): string {
  return `-- ${about.en}
--
-- Made from the strategy "${id}". Change its parameters in the form or over the API; when you change this text, the rule
-- becomes a script of your own.

local P = ${luaText(values)}

${shared}
${rule}`;
}
