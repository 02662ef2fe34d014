/** Functions that a script calls and its runtime does not have (docs/interface/lua-rules.md). */
import type { RuleScript } from './model.ts';

interface RuntimeWarning {
  /** The first line is 1. */
  line: number;
  /** As the script has it. */
  name: string;
  message: string;
}

const ONLY_IN: Readonly<Record<RuleScript['runtimeVersion'], readonly RegExp[]>> = {
  V1: [/\bstorage\s*\.\s*public\b/g],
  V3: [
    /\bscheduler\s*\.\s*\w+/g,
    /\benapter\s*\.\s*main\b/g,
    /\bfunction\s+enapter\s*\.\s*main\b/g,
    /\btelemetry\s*[.:]\s*on_update\b/g,
    /[.:]\s*on_online_changed\b/g,
    /(?<![\w.:])notify\s*(?=[("'{[])/g,
    /\boutput\s*\.\s*(?:request|release)\b/g,
    /\bstorage\s*[.:]\s*(?:read|write|remove)\b/g,
  ],
};

/** Comments and texts, in which nothing is called. */
const INERT =
  /--\[(=*)\[(?:(?!\]\1\])[\s\S])*|--[^\n]*|\[(=*)\[(?:(?!\]\2\])[\s\S])*|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?/g;

/** One for each name, at its first place. */
export function runtimeWarnings({ code, runtimeVersion }: RuleScript): RuntimeWarning[] {
  const other = runtimeVersion === 'V1' ? 'V3' : 'V1';
  const calls = code.replace(INERT, (text) => text.replace(/[^\n]/g, ' '));
  const found = new Map<string, RuntimeWarning>();
  for (const pattern of ONLY_IN[other])
    for (const { 0: text, index } of calls.matchAll(pattern)) {
      const name = text.replace(/^function\s+|\s+/g, '').replace(/^[.:]/, '');
      const line = calls.slice(0, index).split('\n').length;
      const message = `${name} is of runtime ${other}; this rule has runtime ${runtimeVersion}.`;
      if (!found.has(name)) found.set(name, { line, name, message });
    }
  return [...found.values()].toSorted((a, b) => a.line - b.line);
}
