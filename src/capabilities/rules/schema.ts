/** Shapes on the wire. Source: docs/interface/http.md#rules. */
import { isUtf8 } from 'node:buffer';
import * as v from 'valibot';
import { formatDurationMs, formatTimestamp, parseDurationMs } from '../../lib/time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { asUtf8 } from '../../lib/utf8-file.ts';
import { query, shape } from '../../platform/http/index.ts';
import { LOG_SEVERITIES } from '../../protocol/device-log.ts';
import {
  type Engine,
  isTraced,
  type Rule,
  type RuleCondition,
  type RuleLogEntry,
  type RuleScript,
  type RuleVersion,
  RUNTIME_VERSIONS,
} from './model.ts';

const EXEC_INTERVAL_DEFAULT_MS = 1_000;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const slug = shape.slug();

/** Base64 of UTF-8 text, with or without padding. */
const code = v.pipe(
  v.string(),
  shape.wire({
    type: 'string',
    contentEncoding: 'base64',
    pattern: '^[A-Za-z0-9+/]*={0,2}$',
    description: 'Lua text in UTF-8, with or without padding.',
    examples: ['cmV0dXJuIHRydWUK'],
  }),
  v.check((text) => BASE64.test(text) && text.replace(/(?<!=)=+$/, '').length % 4 !== 1, 'must be base64'),
  v.transform((text) => asUtf8(Buffer.from(text, 'base64'))),
  v.check(
    (bytes) => bytes.length <= LIMITS.rules.scriptBytes,
    `must be a script of at most ${LIMITS.rules.scriptBytes} bytes`,
  ),
  v.check((bytes) => isUtf8(bytes), 'must be base64 of UTF-8 text'),
  v.transform((bytes) => bytes.toString('utf8')),
);

export const script = v.pipe(
  v.object({
    code,
    runtime_version: shape.oneOf(RUNTIME_VERSIONS),
    exec_interval: v.pipe(
      v.nullish(v.string()),
      shape.wire({
        anyOf: [{ ...shape.WIRE.duration, examples: ['5s'] }, { const: '' }, { type: 'null' }],
        description: 'With V1 only; null, empty and zero mean 1s.',
        examples: ['5s'],
      }),
    ),
  }),
  v.forward(
    v.check(
      (given) => given.runtime_version === 'V3' || intervalOf(given.exec_interval) !== undefined,
      `must be a duration from ${formatDurationMs(LIMITS.rules.execIntervalMinMs)} to ` +
        formatDurationMs(LIMITS.rules.execIntervalMaxMs),
    ),
    ['exec_interval'],
  ),
  v.transform((given): RuleScript => ({
    code: given.code,
    runtimeVersion: given.runtime_version,
    execIntervalMs: given.runtime_version === 'V1' ? intervalOf(given.exec_interval) : undefined,
  })),
);

/**
 * Missing, empty and zero mean the default (docs/interface/lua-rules.md#script); undefined: not allowed. To the
 * millisecond.
 */
function intervalOf(text: string | null | undefined): number | undefined {
  const intervalMs = text ? parseDurationMs(text) : 0;
  if (intervalMs === undefined) return undefined;
  if (intervalMs === 0) return EXEC_INTERVAL_DEFAULT_MS;
  const { execIntervalMinMs, execIntervalMaxMs } = LIMITS.rules;
  const isAllowed = intervalMs >= execIntervalMinMs && intervalMs <= execIntervalMaxMs;
  return isAllowed ? Math.round(intervalMs) : undefined;
}

export const createEngineBody = v.object({ suspend: v.nullish(v.boolean()) });

const SCRIPT_EXAMPLE = {
  code: Buffer.from('return true\n').toString('base64'),
  runtime_version: 'V3',
};

/** A rule as a caller names it. */
export const newRuleBody = v.pipe(
  v.object({ slug, script, disable: v.nullish(v.boolean()) }),
  shape.example({ slug: 'surplus-to-load', script: SCRIPT_EXAMPLE, disable: true }),
);

/** `{}`, null and the empty text mean "as it is". */
export const updateRuleBody = v.pipe(
  v.object({
    slug: shape.unlessEmpty(slug),
    traced: v.nullish(shape.about(v.boolean(), 'Extension: whether its runs are traced.')),
  }),
  shape.example({ slug: 'surplus-to-heat' }),
);

export const updateScriptBody = v.pipe(v.object({ script }), shape.example({ script: SCRIPT_EXAMPLE }));

export const ruleIdsBody = v.pipe(
  v.object({ rule_ids: shape.about(v.array(v.string()), 'Ids or slugs.') }),
  shape.example({ rule_ids: ['surplus-to-load'] }),
);

export const listQuery = query.pageQuery;

const SEVERITY_ABOUT = 'Only entries of exactly these severities. Absent: all.';

export const logListQuery = v.object({
  limit: query.limit(LIMITS.rules.logPageItems, LIMITS.rules.logPageItems, true),
  offset: query.offset(),
  severity: query.optionalChoices(LOG_SEVERITIES, SEVERITY_ABOUT),
});

export const logStreamQuery = v.object({ severity: query.optionalChoices(LOG_SEVERITIES, SEVERITY_ABOUT) });

export function engineToWire(engine: Engine, timezone: string) {
  return { id: engine.id, state: engine.state, timezone };
}

export function ruleToWire(rule: Rule, { isStarted, isStarting, restartsAtMs, isBroken }: RuleCondition) {
  const { id, slug: name, disabled, script: text, strategy } = rule;
  return {
    id,
    slug: name,
    disabled,
    state: isStarted ? ('STARTED' as const) : ('STOPPED' as const),
    ...(isStarting && { starting: true as const }),
    ...(restartsAtMs !== undefined && { restarts_at: formatTimestamp(restartsAtMs) }),
    ...(isBroken && { broken: true as const }),
    ...(isTraced(rule) && { traced: true as const }),
    script: scriptToWire(text),
    ...(strategy && { strategy: { id: strategy.id, parameters: { ...strategy.parameters } } }),
  };
}

/** A script as it stands on the wire. */
export function scriptToWire({ code: text, runtimeVersion, execIntervalMs }: RuleScript) {
  return {
    code: Buffer.from(text, 'utf8').toString('base64'),
    runtime_version: runtimeVersion,
    ...(execIntervalMs !== undefined && { exec_interval: formatDurationMs(execIntervalMs) }),
  };
}

/** `newest`: the version that is the present script. */
export function versionToWire(
  { id, createdAtMs, savedBy, script: text, strategy }: RuleVersion,
  newest: RuleVersion | undefined,
) {
  return {
    id,
    saved_at: formatTimestamp(createdAtMs),
    saved_by: savedBy ?? null,
    current: newest?.id === id,
    script: scriptToWire(text),
    ...(strategy && { strategy: { id: strategy.id, parameters: { ...strategy.parameters } } }),
  };
}

/** An entry of a rule log as it stands on the wire. */
export function logToWire({ ruleId, receivedAtMs, severity, message }: RuleLogEntry) {
  return {
    timestamp: Math.floor(receivedAtMs / 1_000),
    severity,
    message,
    received_at: formatTimestamp(receivedAtMs),
    rule_id: ruleId,
  };
}

const scriptShape = v.object({
  code: shape.about(v.string(), 'Base64 of UTF-8 text.'),
  runtime_version: v.picklist(RUNTIME_VERSIONS),
  exec_interval: v.optional(shape.about(v.string(), 'Duration; only for V1.')),
});

const ruleShape = shape.named(
  'Rule',
  v.object({
    id: shape.id(),
    slug: v.string(),
    disabled: shape.about(v.boolean(), "The user's wish."),
    state: shape.about(v.picklist(['STARTED', 'STOPPED']), 'Whether the script is loaded and running now.'),
    starting: v.optional(
      shape.about(
        v.literal(true),
        'It is being started, and the state that follows is not known yet; else absent.',
      ),
    ),
    restarts_at: v.optional(
      shape.about(shape.instant(), 'It failed and is started again then; else absent.'),
    ),
    broken: v.optional(
      shape.about(v.literal(true), 'The script does not compile and waits for another one; else absent.'),
    ),
    traced: v.optional(
      shape.about(v.literal(true), 'Its runs are traced, as those of a rule of a strategy are; else absent.'),
    ),
    script: scriptShape,
    strategy: v.optional(
      shape.about(
        v.object({ id: v.string(), parameters: shape.anyObject() }),
        'The strategy of the library that the script is made from; absent for a script of your own.',
      ),
    ),
  }),
  {
    id: '5b0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11',
    slug: 'surplus-to-load',
    disabled: false,
    state: 'STARTED',
    script: { code: Buffer.from('-- empty\n').toString('base64'), runtime_version: 'V3' },
  },
);

const ruleVersionShape = shape.named(
  'RuleVersion',
  v.object({
    id: shape.id(),
    saved_at: shape.instant(),
    saved_by: shape.about(v.nullable(v.string()), 'Name of who saved it; null: nobody who is known.'),
    current: shape.about(v.boolean(), 'It is the present script of the rule.'),
    script: scriptShape,
    strategy: v.optional(
      shape.about(
        v.object({ id: v.string(), parameters: shape.anyObject() }),
        'The strategy that this script was made from; absent for a script of your own.',
      ),
    ),
  }),
  {
    id: '6c0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a12',
    saved_at: '2026-03-01T08:00:00.123Z',
    saved_by: 'anna',
    current: true,
    script: { code: Buffer.from('-- empty\n').toString('base64'), runtime_version: 'V3' },
  },
);

const ruleLogShape = shape.named(
  'RuleLogEntry',
  v.object({
    timestamp: v.pipe(v.number(), v.integer(), v.description('Unix seconds.')),
    severity: v.picklist(LOG_SEVERITIES),
    message: v.string(),
    received_at: shape.instant(),
    rule_id: shape.id(),
  }),
  {
    timestamp: 1_772_352_000,
    severity: 'info',
    message: 'rule started',
    received_at: '2026-03-01T08:00:00.123Z',
    rule_id: '5b0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11',
  },
);

export type RuleVersionOnWire = v.InferOutput<typeof ruleVersionShape>;
export type RuleOnWire = v.InferOutput<typeof ruleShape>;
export type EngineOnWire = v.InferOutput<typeof ruleShapes.engine>['engine'];

/** Answers of the operations on rules. */
export const ruleShapes = {
  engine: v.object({
    engine: shape.named(
      'RuleEngine',
      v.object({
        id: shape.id(),
        state: v.picklist(['ACTIVE', 'SUSPENDED']),
        timezone: shape.about(v.string(), 'Time zone of the site.'),
      }),
      { id: '1b0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', state: 'ACTIVE', timezone: 'Europe/Berlin' },
    ),
  }),
  one: v.object({ rule: ruleShape }),
  several: v.object({ rules: v.array(ruleShape) }),
  list: shape.listOf('rules', ruleShape),
  logs: shape.listOf('logs', ruleLogShape),
  versions: shape.listOf('rule_versions', ruleVersionShape),
  version: v.object({ rule_version: ruleVersionShape }),
  log: ruleLogShape,
  script: v.object({ script: scriptShape }),
  check: v.object({
    fault: v.optional(
      shape.about(
        v.object({
          line: v.optional(v.pipe(v.number(), v.integer(), v.description('The first line is 1.'))),
          message: v.string(),
        }),
        'Absent when the script compiles.',
      ),
    ),
    warnings: v.optional(
      shape.about(
        v.array(v.object({ line: v.pipe(v.number(), v.integer()), message: v.string() })),
        'What the script names and is not there, with the nearest name that is; absent: nothing.',
      ),
    ),
  }),
};
