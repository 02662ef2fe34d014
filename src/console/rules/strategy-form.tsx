/** Forms of strategies: a new rule from a few questions, and the parameters of a rule that was made from one. */
import { useState } from 'preact/hooks';
import type { EnergySourcesOnWire } from '../../capabilities/energy/schema.ts';
import { callFor } from '../api.ts';
import type { Texts } from '../arguments.ts';
import { liveDevice, loadDevices } from '../live.ts';
import { DryRun } from '../parts/dry-run.tsx';
import { go } from '../route.ts';
import { decodeScript } from '../script-text.ts';
import { may } from '../session.ts';
import type { Rule, RuleScript, StrategyEntry, StrategyParameter } from '../shapes.ts';
import { Awaited, Button, Card, ErrorNotice, Form, InputField, useAction, useAnswer } from '../ui.tsx';
import { Code } from '../ui/page-components.tsx';
import { say } from '../words/later.ts';
import { rulePage } from './engine.ts';
import { RULE_NAME } from './fields.tsx';
import { declaredArguments, ParameterFields } from './parameter-fields.tsx';
import { textsOf, type Values, valuesOf } from './parameter-texts.ts';
import { createStrategyRule, inWords, readStrategy, strategyScript, updateParameters } from './strategies.ts';

type Sources = EnergySourcesOnWire['items'];

/** Suggested value of a parameter, by the energy of the site. Half of a command that may be left out would have to be completed. */
function suggested({ name, kind, role, sign, required }: StrategyParameter, sources: Sources): Values {
  const source = sources.find((each) => each.role === role);
  const device = source && liveDevice(source.device_id)?.device.slug;
  if (!source || device === undefined) return {};
  if (kind !== 'attribute') return required ? { [name]: { device } } : {};
  if (source.power === null) return {};
  return { [name]: { device, attribute: source.power, ...(sign && { inverted: source.is_inverted }) } };
}

/** The form of a new rule. */
export function NewStrategyRule({ id }: { id: string }) {
  const { answer, error } = useAnswer(async () => {
    // Commands and values of devices are what a form chooses from.
    const [strategy, { items }] = await Promise.all([
      readStrategy(id),
      callFor<EnergySourcesOnWire>('energy_sources', 'GET', '/v3/site/energy/sources'),
      loadDevices(),
    ]);
    const values = Object.assign(
      {},
      ...strategy.parameters.map((parameter) => suggested(parameter, items)),
    ) as Values;
    return { strategy, texts: textsOf(strategy.parameters, values, declaredArguments) };
  }, [id]);
  if (!answer) return <Awaited answer={answer} error={error} />;
  return <NewForm {...answer} />;
}

function NewForm({ strategy, texts: first }: { strategy: StrategyEntry; texts: Texts }) {
  const [texts, setTexts] = useState(first);
  const [slug, setSlug] = useState(strategy.id);
  const values = valuesOf(strategy.parameters, texts, declaredArguments);
  const making = useAction(async () => {
    await createStrategyRule(strategy.id, slug, values);
    go(rulePage(slug));
  });
  return (
    <Card title={inWords(strategy.name)}>
      <Form action={making} submit={say.rules.makeRule}>
        <p class="hint">
          {inWords(strategy.about)} {say.rules.whenSilent(inWords(strategy.when_silent))}
        </p>
        <ParameterFields parameters={strategy.parameters} texts={texts} onTexts={setTexts} />
        <InputField {...RULE_NAME} value={slug} onValue={setSlug} />
      </Form>
      <Tried id={strategy.id} values={values} />
    </Card>
  );
}

/** The script that the parameters give, and what it would have done. */
function Tried({ id, values }: { id: string; values: Values }) {
  const [script, setScript] = useState<RuleScript | undefined>(undefined);
  const showing = useAction(async () => setScript(await strategyScript(id, values)));
  return (
    <>
      <div class="actions">
        <Button action={showing}>{say.rules.showScript}</Button>
      </div>
      <ErrorNotice error={showing.error} />
      {script && (
        <>
          <Code text={decodeScript(script.code)} />
          <DryRun script={script} ruleId={undefined} />
        </>
      )}
    </>
  );
}

/** The parameters of a rule that was made from a strategy. */
export function RuleParameters({
  rule,
  made,
  onSaved,
}: {
  rule: Rule;
  made: NonNullable<Rule['strategy']>;
  onSaved: () => void;
}) {
  const { answer, error } = useAnswer(async () => {
    const [strategy] = await Promise.all([readStrategy(made.id), loadDevices()]);
    return strategy;
  }, [made.id]);
  if (!answer) return <Awaited answer={answer} error={error} />;
  return (
    <ParametersForm
      rule={rule}
      strategy={answer}
      values={made.parameters}
      onSaved={onSaved}
      key={JSON.stringify(made.parameters)}
    />
  );
}

function ParametersForm({
  rule,
  strategy,
  values,
  onSaved,
}: {
  rule: Rule;
  strategy: StrategyEntry;
  values: Values;
  onSaved: () => void;
}) {
  const [texts, setTexts] = useState(() => textsOf(strategy.parameters, values, declaredArguments));
  const saving = useAction(async () => {
    await updateParameters(rule, valuesOf(strategy.parameters, texts, declaredArguments));
    onSaved();
  });
  return (
    <Card title={inWords(strategy.name)}>
      <Form
        action={saving}
        submit={say.rules.saveParameters}
        done={say.rules.savedBeside}
        isReadOnly={!may('OWNER')}
      >
        <p class="hint">
          {inWords(strategy.about)} {say.rules.whenSilent(inWords(strategy.when_silent))}
        </p>
        <ParameterFields parameters={strategy.parameters} texts={texts} onTexts={setTexts} />
      </Form>
      <p class="hint">{say.rules.takeOver}</p>
    </Card>
  );
}
